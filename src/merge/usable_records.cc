#include "merge/usable_records.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/task.h"

namespace xxl {

std::uint64_t UsableRecords::Bound::word(const KeyLayout& layout, std::size_t index) const {
  if (record != nullptr) return layout.word(record, index);
  return index < kTriggerWords ? trigger.words[index] : 0;
}

bool UsableRecords::Bound::below(const Bound& other, const KeyLayout& layout) const {
  for (std::size_t i = 0; i < layout.words(); ++i) {
    const std::uint64_t x = word(layout, i), y = other.word(layout, i);
    if (x != y) return x < y;
  }
  if (layout.words_are_key() || other.record == nullptr) return false;
  if (record == nullptr) return !KeyLabels::is_label(trigger.words[0]);
  return layout.compare(record, other.record) < 0;
}

bool UsableRecords::Bound::is_above(const std::byte* x, std::uint32_t x_run,
                                    const KeyLayout& layout) const {
  for (std::size_t i = 0; i < layout.words(); ++i) {
    const std::uint64_t a = layout.word(x, i), b = word(layout, i);
    if (a != b) return a < b;
  }
  if (!layout.words_are_key()) {
    if (record == nullptr && !KeyLabels::is_label(trigger.words[0])) return false;  // not known
    const int order = record == nullptr ? 0 : layout.compare(x, record);
    if (order != 0) return order < 0;
  }
  return x_run < run;
}

// The records that have arrived are usable, but for those of a cell that is not sorted: these only
// when all of them have arrived and will not be cut apart, or have been sorted.
void UsableRecords::update(std::uint32_t run) {
  RunState& state = states_[run];
  const std::uint64_t in_memory = runs_[run].records_in_memory();
  if (!runs_[run].run().cells) {
    state.usable = in_memory;
    return;
  }
  const RunCells& cells = *runs_[run].run().cells;
  for (;;) {
    while (state.cell + 1 < cells.grid().cells() && cells.start(state.cell + 1) <= state.usable) {
      ++state.cell;
    }
    if (state.usable >= in_memory) return;
    const std::uint64_t end = cells.start(state.cell + 1);
    if (!cells.is_sorted(state.cell)) {
      if (in_memory < end || state.sorting) return;
      if (!cells_.takes_whole(state.cell)) return sort_cell(run);
    }
    state.usable = std::min(end, in_memory);
  }
}

// Sorts what `run` has of its current cell.
void UsableRecords::sort_cell(std::uint32_t run) {
  RunState& state = states_[run];
  state.sorting = true;
  ++sorting_;
  const std::uint64_t end = runs_[run].run().cells->start(state.cell + 1);
  std::vector<Segment> segments;
  runs_[run].append_segments(state.usable, end, segments);
  run_task(context_.workers, context_.mailbox, in_flight_,
           [this, run, end, segments = std::move(segments)](unsigned thread) {
             PieceSorter& sorter = *context_.sorters[thread];
             sorter.sort(segments);
             const std::byte* sorted = context_.spare[thread].data();
             sorter.write(0, sorter.size(), context_.spare[thread].data());
             for (const Segment& segment : segments) {
               const std::size_t bytes = segment.count * context_.layout.record_bytes();
               std::memcpy(const_cast<std::byte*>(segment.records), sorted,
                           bytes);  // in our own buffers
               sorted += bytes;
             }
             context_.mailbox.post([this, run, end] {
               --sorting_;
               states_[run].sorting = false;
               states_[run].usable = end;
               update(run);
             });
           });
}

UsableRecords::Bound UsableRecords::bound_of(std::uint32_t run) const {
  const RunState& state = states_[run];
  const Run& described = runs_[run].run();
  Bound bound;
  if (state.usable == described.records) return bound;
  bound.none = false;
  bound.run = run;
  if (described.cells && !described.cells->is_sorted(state.cell)) {
    bound.trigger = described.cells->grid().lower_bound(state.cell);
    return bound;
  }
  bound.trigger = described.blocks[runs_[run].first_missing()].trigger;
  const std::byte* const last = runs_[run].last_record();
  if (triggers_are_exact(context_.layout) || last == nullptr) return bound;
  // (What a comparator knows of triggers may have become more since.)
  const Trigger trigger = trigger_of(context_.layout, last);
  const bool more_is_known = !context_.layout.words_are_key() && trigger > bound.trigger;
  if (trigger == bound.trigger || more_is_known) bound.record = last;
  return bound;
}

UsableRecords::Bound UsableRecords::bound() const {
  Bound smallest;
  for (std::uint32_t run = 0; run < runs_.size(); ++run) {
    const Bound bound = bound_of(run);
    if (bound.none) continue;
    if (smallest.none || bound.below(smallest, context_.layout)) smallest = bound;
  }
  return smallest;
}

std::vector<std::uint64_t> UsableRecords::ends_below(
    const Bound& bound, std::size_t cell, const std::vector<std::uint64_t>& begins) const {
  std::vector<std::uint64_t> ends(runs_.size());
  for (std::uint32_t run = 0; run < runs_.size(); ++run) {
    const std::uint64_t usable = std::min(states_[run].usable, cells_.end(runs_[run].run(), cell));
    ends[run] = std::max(begins[run], usable);
    if (bound.none || run == bound.run) continue;
    ends[run] = runs_[run].partition_point(begins[run], ends[run], [&](const std::byte* record) {
      return bound.is_above(record, run, context_.layout);
    });
  }
  return ends;
}

}  // namespace xxl
