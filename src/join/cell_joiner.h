// Joins the cells of a merge of R's and S's runs, each in the worker that has sorted it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/monitor.h"
#include "join/group_store.h"
#include "join/join_emitter.h"
#include "merge/cell_work.h"
#include "run/general_output.h"

namespace xxl {

class CellJoiner final : public CellWork {
 public:
  // The references must outlive it. `output`: null if rows are only counted; `first_ticket`: of it.
  // `group`: for cells that cannot be held.
  CellJoiner(const JoinRules& rules, GeneralOutput* output, Ticket first_ticket, GroupStore& group,
             Monitor& monitor)
      : rules_(rules),
        output_(output),
        first_ticket_(first_ticket),
        group_(group),
        monitor_(monitor) {}

  bool marks_same() const override { return false; }
  bool take(std::size_t cell, std::span<const CellRecords> sides, const Sort& sort) override;
  bool stream(std::size_t cell, std::span<RecordMerge> sides) override;
  void skip(std::size_t cell) override;

  // After the last cell.
  const JoinTotals& totals() const { return totals_; }

 private:
  void settle(const JoinTotals& totals);

  const JoinRules& rules_;
  GeneralOutput* output_;
  Ticket first_ticket_;
  GroupStore& group_;
  Monitor& monitor_;
  JoinTotals totals_;  // with the monitor's lock
};

}  // namespace xxl
