// A hash join of tables: the right one is in memory, the left one is read while rows are asked for.
//
// Rows come in the order of the left table, those of one row in that of the right one; then, of a
// right or full join, rows of the right table alone, in its order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "callers/shared_resources.h"
#include "columns/join_meter.h"
#include "columns/joined_rows.h"
#include "columns/joined_tables.h"
#include "columns/row_table.h"

namespace xxl {

class ProbedRows final : public JoinedRowSource {
 public:
  // `table` has all rows of the right table, and is built. `grant`: its memory. `meter` is in the
  // phase of this.
  ProbedRows(JoinKind kind, std::unique_ptr<JoinedTables> tables, std::unique_ptr<RowTable> table,
             std::unique_ptr<detail::Grant> grant, std::unique_ptr<JoinMeter> meter,
             std::stop_token stop);

  // Where all keys of the table differ, rows of a left join pass, and those of an inner one as long
  // as all match.
  bool pass(std::size_t most, std::uint64_t most_bytes, PassedRows& passed) override;
  void next(std::size_t most, std::uint64_t most_bytes, JoinedRows& rows) override;

 private:
  // A row of the left table.
  struct Probe {
    RowParts parts;
    std::uint64_t bytes;
    std::uint32_t hash;
    bool matches_nothing;
  };

  bool may_pass() const;
  std::uint32_t find(const Probe& left) const {
    return left.matches_nothing ? RowTable::kNone : table_->find(left.hash, left.parts.key);
  }
  RowParts no_right_row() const { return {{}, tables_->formats[1].no_row(), 0}; }
  void set_probes(std::span<const std::byte> records);
  bool next_probes();
  void finish();
  void probe(JoinedRows& rows);
  void end_probe() {
    ++at_;
    begun_ = false;
  }
  void add_alone(std::size_t most, std::uint64_t most_bytes, JoinedRows& rows);

  const JoinKind kind_;
  const std::unique_ptr<detail::Grant> grant_;
  const std::unique_ptr<JoinedTables> tables_;
  const std::unique_ptr<RowTable> table_;
  const std::unique_ptr<JoinMeter> meter_;
  const std::stop_token stop_;
  bool passes_;
  const RowFormat key_format_;
  DictionaryTables no_dictionaries_;
  RowWriter key_writer_;
  std::vector<Probe> probes_;
  std::size_t at_ = 0;         // in them
  bool begun_ = false;         // with that one
  std::uint32_t match_ = 0;    // its next row of the table, once it is begun
  std::vector<bool> matched_;  // rows of the table, where those that are not are wanted
  std::uint32_t alone_ = 0;    // the next one of these
  bool finished_ = false;
};

}  // namespace xxl
