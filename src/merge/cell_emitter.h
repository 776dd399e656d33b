// Writes the records of cells to the output of a sort.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/monitor.h"
#include "merge/cell_work.h"
#include "merge/record_emitter.h"
#include "record/record_syntax.h"
#include "run/general_output.h"

namespace xxl {

struct GeneralMergeOptions {
  RecordSyntax syntax;  // of the output
  EmitRules rules;
  std::size_t dropped_bytes = 0;               // of the front of each record: not written
  const std::atomic<bool>* stopped = nullptr;  // set: nothing more is needed
};

class CellEmitter final : public CellWork {
 public:
  // The references must outlive it. `first_ticket`: of the output.
  CellEmitter(const GeneralMergeOptions& options, GeneralOutput& output, Ticket first_ticket,
              Monitor& monitor)
      : options_(options), output_(output), first_ticket_(first_ticket), monitor_(monitor) {}
  // Of all records, for each of whose cells a place is laid out.
  CellEmitter(const GeneralMergeOptions& options, GeneralOutput& output,
              std::span<const GeneralOutput::OutputStretch> places, Monitor& monitor)
      : options_(options), output_(output), places_(places), monitor_(monitor) {}

  bool marks_same() const override { return options_.rules.kept.has_groups(); }
  bool take(std::size_t cell, std::span<const CellRecords> sides, const Sort& sort) override;
  bool stream(std::size_t cell, std::span<RecordMerge> sides) override;
  void skip(std::size_t cell) override { begin(cell, 0).finish(); }

  // After the last cell.
  const GeneralTotals& totals() const { return totals_; }

 private:
  GeneralOutput::Reservation begin(std::size_t cell, std::uint64_t bytes);
  GeneralOutput::Reservation begin_open_ended(std::size_t cell);
  EmitRules rules_left();
  bool settle(const GeneralTotals& totals);

  const GeneralMergeOptions& options_;
  GeneralOutput& output_;
  const Ticket first_ticket_{};
  const std::span<const GeneralOutput::OutputStretch> places_;
  Monitor& monitor_;
  GeneralTotals totals_;                               // with the monitor's lock
  std::atomic<bool> skips_ = options_.rules.skip > 0;  // records are still to be left out
};

}  // namespace xxl
