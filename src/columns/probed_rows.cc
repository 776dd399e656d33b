#include "columns/probed_rows.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "base/error.h"

namespace xxl {

ProbedRows::ProbedRows(JoinKind kind, std::unique_ptr<JoinedTables> tables,
                       std::unique_ptr<RowTable> table, std::unique_ptr<detail::Grant> grant,
                       std::unique_ptr<JoinMeter> meter, std::stop_token stop)
    : kind_(kind),
      grant_(std::move(grant)),
      tables_(std::move(tables)),
      table_(std::move(table)),
      meter_(std::move(meter)),
      stop_(std::move(stop)),
      passes_(may_pass()),
      key_format_(tables_->formats[0].key_only()),
      key_writer_(key_format_, no_dictionaries_) {
  tables_->left_rows.tell_no_more();
  if (kind == JoinKind::right || kind == JoinKind::full) matched_.resize(table_->rows());
}

// Keys must be those of the output as they are: not floats, whose zeros become one.
bool ProbedRows::may_pass() const {
  if (kind_ != JoinKind::left && kind_ != JoinKind::inner) return false;
  if (!table_->is_unique()) return false;
  const JoinKeys& keys = tables_->keys;
  for (std::size_t k = 0; k < keys.types.size(); ++k) {
    const ColumnType& left = tables_->left.type().children[keys.sides[0][k].column];
    if (left.format != keys.types[k].format || !is_in_key(keys.sides[0][k], left)) return false;
  }
  return true;
}

bool ProbedRows::pass(std::size_t most, std::uint64_t most_bytes, PassedRows& passed) {
  if (!passes_ || at_ < probes_.size()) return false;
  if (stop_.stop_requested()) throw_stopped();
  const RowPusher::Rest rest = tables_->left_rows.rest();
  const std::size_t count = std::min(rest.rows, most);
  if (count == 0) return false;
  passed = {tables_->left.shared_batch(), rest.batch, rest.first, {}};
  std::uint64_t bytes = 0, key_bytes = 0;
  while (passed.values.size() < count && bytes < most_bytes) {
    const std::size_t done = passed.values.size();
    const auto keys = key_writer_.write(*rest.batch, rest.first + done, count - done).records;
    key_bytes += keys.size();
    set_probes(keys);
    for (const Probe& left : probes_) {
      if (bytes >= most_bytes) break;
      const std::uint32_t match = find(left);
      passes_ = match != RowTable::kNone || kind_ == JoinKind::left;
      if (!passes_) break;
      const RowParts right = match != RowTable::kNone ? table_->row(match) : no_right_row();
      passed.values.push_back(right.values);
      bytes += right.value_bytes;
    }
    probes_.clear();
    if (!passes_) return false;
  }
  for (const ColumnView& column : rest.batch->children) {
    check_nulls(column, rest.first, passed.values.size());
  }
  meter_->advance(key_bytes);
  tables_->left_rows.skip(passed.values.size(), key_bytes);
  return true;
}

void ProbedRows::next(std::size_t most, std::uint64_t most_bytes, JoinedRows& rows) {
  // What was given lasts until now, so that rows of one reading come at a time.
  while (rows.size() == 0) {
    if (stop_.stop_requested()) throw_stopped();
    if (at_ == probes_.size() && !next_probes()) {
      add_alone(most, most_bytes, rows);
      if (rows.size() == 0) finish();
      return;
    }
    while (at_ < probes_.size() && rows.size() < most && rows.bytes < most_bytes) probe(rows);
  }
}

bool ProbedRows::next_probes() {
  const std::span<const std::byte> records = tables_->left_rows.next();
  meter_->advance(records.size());
  set_probes(records);
  return !probes_.empty();
}

void ProbedRows::finish() {
  if (std::exchange(finished_, true)) return;
  meter_->end("probe");
  meter_->begin(Phase::finishing);
  meter_->end("finish");
  meter_->finish();
}

// In steps, so that what the next one needs of memory is on its way.
void ProbedRows::set_probes(std::span<const std::byte> records) {
  probes_.clear();
  at_ = 0;
  visit_rows(records, [this](std::string_view record) {
    const RowParts parts = parts_of_row(record);
    const std::uint32_t hash = hash_of_key(parts.key);
    table_->prefetch_bucket(hash);
    probes_.push_back({parts, record.size(), hash, has_null(parts.key)});
  });
  for (const Probe& each : probes_) table_->prefetch_entry(each.hash);
  for (const Probe& each : probes_) table_->prefetch_row(each.hash);
}

// One row more, or the next row of the left table.
void ProbedRows::probe(JoinedRows& rows) {
  const Probe& left = probes_[at_];
  const auto alone = [&] {
    rows.add(left.parts.key, left.parts.values, no_right_row().values, left.bytes);
  };
  if (!begun_) {
    match_ = find(left);
    begun_ = true;
    const bool any = match_ != RowTable::kNone;
    if (kind_ == JoinKind::semi || kind_ == JoinKind::anti) {
      if (any == (kind_ == JoinKind::semi)) alone();
      return end_probe();
    }
    if (!any) {
      if (kind_ == JoinKind::left || kind_ == JoinKind::full) alone();
      return end_probe();
    }
  }
  if (!matched_.empty()) matched_[match_] = true;
  const RowParts right = table_->row(match_);
  rows.add(left.parts.key, left.parts.values, right.values, left.bytes + right.value_bytes);
  match_ = table_->find_next(match_, left.parts.key);
  if (match_ == RowTable::kNone) end_probe();
}

void ProbedRows::add_alone(std::size_t most, std::uint64_t most_bytes, JoinedRows& rows) {
  for (; alone_ < matched_.size() && rows.size() < most && rows.bytes < most_bytes; ++alone_) {
    if (matched_[alone_]) continue;
    const RowParts right = table_->row(alone_);
    rows.add(right.key, tables_->formats[0].no_row(), right.values,
             right.key.size() + right.value_bytes);
  }
}

}  // namespace xxl
