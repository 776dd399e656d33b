#include "merge/cell_emitter.h"

#include <algorithm>

#include "base/prefetch.h"

namespace xxl {

GeneralOutput::Reservation CellEmitter::begin(std::size_t cell, std::uint64_t bytes) {
  return places_.empty() ? output_.begin(first_ticket_ + cell, bytes)
                         : output_.begin(places_[cell]);
}

GeneralOutput::Reservation CellEmitter::begin_open_ended(std::size_t cell) {
  return places_.empty() ? output_.begin_open_ended(first_ticket_ + cell)
                         : output_.begin(places_[cell]);
}

bool CellEmitter::take(std::size_t cell, std::span<const CellRecords> sides, const Sort& sort) {
  const std::span<const StringItem> items = sides[0].items;
  const CellAccess& access = sides[0].access;
  const EmitRules& rules = options_.rules;
  const auto each = [&](const auto& visit) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i + kPrefetchRecords < items.size()) {
        access.prefetch(items[i + kPrefetchRecords].place());
      }
      if (!visit(access(items[i].place()), items[i].same_key())) break;
    }
  };
  if (rules.limit != kNoLimit || rules.fold || skips_) {
    // The number of bytes is not known beforehand.
    sort();
    PieceWriter writer(begin_open_ended(cell), options_.syntax, options_.dropped_bytes);
    RecordEmitter emitter(writer, rules_left());
    each([&](std::string_view record, bool same) { return emitter.add(record, same); });
    const bool more = settle(emitter.finish());
    writer.finish();
    return more;
  }
  const std::size_t frame_bytes = options_.syntax.frame_bytes();
  const std::size_t dropped_bytes = options_.dropped_bytes;
  std::uint64_t bytes = sides[0].bytes + items.size() * (frame_bytes - dropped_bytes);
  // A place that is known before records are sorted is taken at once: later cells need not wait. A
  // turn would be kept where the output is cut.
  const bool has_groups = rules.kept.has_groups();
  const bool sorts_first = has_groups || (output_.is_cut() && places_.empty());
  if (sorts_first) sort();
  if (has_groups) {
    bytes = 0;
    GroupSelection kept = rules.kept;
    each([&](std::string_view record, bool same) {
      if (kept.keeps(record, same)) bytes += record.size() + frame_bytes - dropped_bytes;
      return true;
    });
  }
  PieceWriter writer(begin(cell, bytes), options_.syntax, dropped_bytes);
  if (!sorts_first) sort();
  EmitRules rules_of_all = rules;
  rules_of_all.skip = 0;
  RecordEmitter emitter(writer, rules_of_all);
  each([&](std::string_view record, bool same) { return emitter.add(record, same); });
  const GeneralTotals& totals = emitter.finish();
  writer.finish();
  return settle(totals);
}

bool CellEmitter::stream(std::size_t cell, std::span<RecordMerge> sides) {
  RecordMerge& merge = sides[0];
  PieceWriter writer(begin_open_ended(cell), options_.syntax, options_.dropped_bytes);
  RecordEmitter emitter(writer, rules_left());
  while (merge.next() && emitter.add(merge.record(), merge.same_key())) {
  }
  const bool more = settle(emitter.finish());
  writer.finish();
  return more;
}

// What remains to be skipped, and of the limit, once all cells before have settled: before the turn
// in the output ends.
EmitRules CellEmitter::rules_left() {
  EmitRules rules = options_.rules;
  auto lock = monitor_.lock();
  rules.skip -= totals_.records_skipped;
  rules.limit -= std::min(rules.limit, totals_.records_out);
  return rules;
}

bool CellEmitter::settle(const GeneralTotals& totals) {
  auto lock = monitor_.lock();
  totals_ += totals;
  skips_ = totals_.records_skipped < options_.rules.skip;
  const bool is_stopped = options_.stopped != nullptr && *options_.stopped;
  return !is_stopped && totals_.records_out < options_.rules.limit;
}

}  // namespace xxl
