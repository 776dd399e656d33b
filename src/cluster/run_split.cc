#include "cluster/run_split.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <tuple>

#include "base/error.h"
#include "base/units.h"
#include "cluster/message.h"
#include "run/block_reader.h"

namespace xxl {
namespace {

// From `low` to `high`: the places that one may have, or how many records may come before one.
struct Range {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::uint64_t size() const { return high - low; }
  std::uint64_t middle() const { return low + size() / 2; }
};

// A record that is compared with others: what of its key is known, and its place.
struct Pivot {
  std::uint64_t weight = 0;  // records in the intervals that it is the middle of
  std::int32_t rank = 0;     // -1: it comes before all records of its key
  std::uint32_t run = 0;
  std::uint64_t index = 0;
  Trigger trigger;
  const std::byte* record = nullptr;  // null: only its trigger is known
};

// One splitter, in the runs of one rank.
struct Splitter {
  std::vector<Range> intervals;
  std::vector<Range> counts;  // of the present pivot
  std::deque<BlockReader> readers;
  bool by_records = false;  // pivots are any records, whose keys are read
};

class RunSplit {
 public:
  RunSplit(const KeyLayout& layout, const std::vector<Run>& runs, BlockSource& source,
           std::span<const std::uint64_t> starts, std::span<std::byte> memory,
           std::size_t block_bytes, Peers& peers);

  // Finds all, each where so many records come before it.
  void find();
  // Moves those that have been found to the first record of a key.
  void move_to_keys();
  // Where the splitter of `rank` lies in each run.
  std::vector<std::uint64_t> places(std::size_t rank) const;

 private:
  bool step();
  std::vector<Message> choose_pivots(bool found);
  Message own_pivot(Splitter& splitter, bool found);
  Pivot read_pivot(const Message& message) const;
  bool comes_first(const Pivot& a, const Pivot& b) const;
  Pivot median_of(std::vector<Pivot> pivots) const;

  void start_counting(Splitter& splitter, const Pivot& pivot);
  Range count_before(Splitter& splitter, const Pivot& pivot);
  Range count_by_triggers(const Splitter& splitter, std::uint32_t run, const Pivot& pivot) const;
  void narrow(Splitter& splitter, const Pivot& pivot, Range count, std::uint64_t wanted) const;

  std::uint64_t block_of(std::uint32_t run, std::uint64_t index) const {
    return index / runs_[run].records_per_block;
  }
  void start(Splitter& splitter, std::uint32_t run, std::uint64_t index) const {
    splitter.readers[run].start(runs_[run].blocks[block_of(run, index)]);
  }
  const std::byte* record(Splitter& splitter, std::uint32_t run, std::uint64_t index) const {
    const std::byte* const block =
        splitter.readers[run].get(runs_[run].blocks[block_of(run, index)]);
    return block + index % runs_[run].records_per_block * layout_.record_bytes();
  }
  // Whether the pivot is a record of this run.
  bool is_in(const Pivot& pivot, std::uint32_t run) const {
    return pivot.rank == rank_ && pivot.run == run;
  }
  // Whether records of this run come before the pivot if their keys are equal.
  bool is_earlier(std::uint32_t run, const Pivot& pivot) const {
    return rank_ != pivot.rank ? rank_ < pivot.rank : run < pivot.run;
  }

  const KeyLayout& layout_;
  const std::vector<Run>& runs_;
  const std::span<const std::uint64_t> starts_;
  Peers& peers_;
  const std::int32_t rank_;
  std::vector<Splitter> splitters_;  // of all ranks
};

RunSplit::RunSplit(const KeyLayout& layout, const std::vector<Run>& runs, BlockSource& source,
                   std::span<const std::uint64_t> starts, std::span<std::byte> memory,
                   std::size_t block_bytes, Peers& peers)
    : layout_(layout),
      runs_(runs),
      starts_(starts),
      peers_(peers),
      rank_(static_cast<std::int32_t>(peers.rank())),
      splitters_(peers.ranks()) {
  XXL_CHECK(memory.size() >= split_buffers(runs.size(), peers.ranks()) * block_bytes);
  std::byte* buffer = memory.data();
  for (std::size_t rank = 0; rank < splitters_.size(); ++rank) {
    Splitter& splitter = splitters_[rank];
    splitter.counts.resize(runs.size());
    for (const Run& run : runs) {
      splitter.intervals.push_back({0, starts[rank] == 0 ? 0 : run.records});
      splitter.readers.emplace_back(run, source, buffer);
      buffer += block_bytes;
    }
  }
}

void RunSplit::find() {
  while (step()) {
  }
}

std::vector<std::uint64_t> RunSplit::places(std::size_t rank) const {
  std::vector<std::uint64_t> places;
  for (const Range& interval : splitters_[rank].intervals) {
    XXL_CHECK(interval.size() == 0);
    places.push_back(interval.low);
  }
  return places;
}

void RunSplit::move_to_keys() {
  const std::vector<Message> firsts = choose_pivots(true);
  for (std::size_t i = 0; i < splitters_.size(); ++i) {
    if (firsts[i].empty()) continue;  // nothing lies behind it
    Pivot first = read_pivot(firsts[i]);
    first.rank = -1;
    for (Range& interval : splitters_[i].intervals) interval.low = 0;
    count_before(splitters_[i], first);
    splitters_[i].intervals = splitters_[i].counts;
  }
}

// One pivot for each splitter. False when all have been found.
bool RunSplit::step() {
  const std::vector<Message> pivots = choose_pivots(false);
  for (std::size_t i = 0; i < pivots.size(); ++i) {
    if (!pivots[i].empty()) start_counting(splitters_[i], read_pivot(pivots[i]));
  }
  std::vector<Message> messages;
  for (std::size_t i = 0; i < pivots.size(); ++i) {
    MessageWriter writer;
    writer.put(pivots[i].empty() ? Range() : count_before(splitters_[i], read_pivot(pivots[i])));
    messages.push_back(writer.take());
  }
  Range sum;  // of all ranks, for the splitter that this one finds
  for (const Message& message : peers_.exchange(std::move(messages))) {
    const auto count = MessageReader(message).get<Range>();
    sum.low += count.low;
    sum.high += count.high;
  }
  const std::vector<Range> sums = gather(peers_, sum);
  bool all_found = true;
  for (std::size_t i = 0; i < pivots.size(); ++i) {
    Splitter& splitter = splitters_[i];
    if (!pivots[i].empty()) {
      all_found = false;
      narrow(splitter, read_pivot(pivots[i]), sums[i], starts_[i]);
    } else if (!splitter.by_records) {  // intervals are places, or no block starts within them
      all_found = false;
      splitter.by_records = true;
    }
  }
  return !all_found;
}

// ---- pivots ----

// Steps of all ranks: for each splitter the weighted median of those of all ranks, or nothing. If
// all are found, the first record behind it, which is the median of records without weight.
std::vector<Message> RunSplit::choose_pivots(bool found) {
  std::vector<Message> messages;
  for (Splitter& splitter : splitters_) {
    for (std::uint32_t run = 0; splitter.by_records && run < runs_.size(); ++run) {
      const Range& interval = splitter.intervals[run];
      if (interval.size() > 0) start(splitter, run, interval.middle());
    }
  }
  for (Splitter& splitter : splitters_) messages.push_back(own_pivot(splitter, found));
  std::vector<Message> candidates = peers_.exchange(std::move(messages));
  std::vector<Pivot> pivots;
  for (const Message& message : candidates) {
    if (!message.empty()) pivots.push_back(read_pivot(message));
  }
  if (pivots.empty()) return tell_all(peers_, {});
  return tell_all(peers_, candidates[static_cast<std::size_t>(median_of(std::move(pivots)).rank)]);
}

// The weighted median of the middles of this rank's intervals: it halves them at least in part,
// whatever their sizes. Empty if there is none.
Message RunSplit::own_pivot(Splitter& splitter, bool found) {
  std::vector<Pivot> middles;
  for (std::uint32_t run = 0; run < runs_.size(); ++run) {
    const Range& interval = splitter.intervals[run];
    if (found ? interval.low == runs_[run].records : interval.size() == 0) continue;
    Pivot pivot{interval.size(), rank_, run, interval.middle(), {}, nullptr};
    if (splitter.by_records) {
      pivot.record = record(splitter, run, pivot.index);
      pivot.trigger = trigger_of(layout_, pivot.record);
    } else {
      const std::uint64_t block = block_of(run, pivot.index);
      pivot.index = block * runs_[run].records_per_block;
      if (pivot.index <= interval.low) continue;  // no block starts in its first half
      pivot.trigger = runs_[run].blocks[block].trigger;
    }
    middles.push_back(pivot);
  }
  if (middles.empty()) return {};
  const Pivot pivot = median_of(std::move(middles));
  MessageWriter writer;
  writer.put(pivot);
  if (pivot.record != nullptr) writer.put_bytes({pivot.record, layout_.record_bytes()});
  return writer.take();
}

// Its record lies in the message.
Pivot RunSplit::read_pivot(const Message& message) const {
  MessageReader reader(message);
  auto pivot = reader.get<Pivot>();
  pivot.record = reader.at_end() ? nullptr : reader.get_bytes(layout_.record_bytes()).data();
  return pivot;
}

// The weighted median, with the weight of all. Of one at least.
Pivot RunSplit::median_of(std::vector<Pivot> pivots) const {
  std::sort(pivots.begin(), pivots.end(),
            [this](const Pivot& a, const Pivot& b) { return comes_first(a, b); });
  std::uint64_t weight = 0;
  for (const Pivot& pivot : pivots) weight += pivot.weight;
  std::uint64_t before = 0;
  auto median = pivots.begin();
  while (before + median->weight < ceil_div<std::uint64_t>(weight, 2)) {
    before += (median++)->weight;
  }
  median->weight = weight;
  return *median;
}

bool RunSplit::comes_first(const Pivot& a, const Pivot& b) const {
  if (a.trigger != b.trigger) return a.trigger < b.trigger;
  if (a.record != nullptr && b.record != nullptr) {
    const int order = layout_.compare(a.record, b.record);
    if (order != 0) return order < 0;
  }
  return std::tie(a.rank, a.run, a.index) < std::tie(b.rank, b.run, b.index);
}

// ---- counting ----

// Starts to read what count_before() will need, of all splitters at the same time.
void RunSplit::start_counting(Splitter& splitter, const Pivot& pivot) {
  for (std::uint32_t run = 0; pivot.record != nullptr && run < runs_.size(); ++run) {
    const Range count = count_by_triggers(splitter, run, pivot);
    if (count.size() > 0) start(splitter, run, count.middle());
  }
}

// By triggers, and if the pivot's record is known, by the records for which these do not tell.
Range RunSplit::count_before(Splitter& splitter, const Pivot& pivot) {
  Range sum;
  for (std::uint32_t run = 0; run < runs_.size(); ++run) {
    Range& count = splitter.counts[run];
    count = count_by_triggers(splitter, run, pivot);
    while (pivot.record != nullptr && count.size() > 0) {
      const std::uint64_t index = count.middle();
      const int order = layout_.compare(record(splitter, run, index), pivot.record);
      if (order < 0 || (order == 0 && is_earlier(run, pivot))) {
        count.low = index + 1;
      } else {
        count.high = index;
      }
    }
    sum.low += count.low;
    sum.high += count.high;
  }
  return sum;
}

// The records up to the last block that surely starts before the pivot come before it, and no
// record from the first block on that surely starts behind. All that matters lies in the run's
// interval: a pivot that is not behind the splitter has no more records before it in any run than
// the splitter, and one behind it no fewer.
Range RunSplit::count_by_triggers(const Splitter& splitter, std::uint32_t run,
                                  const Pivot& pivot) const {
  if (is_in(pivot, run)) return {pivot.index, pivot.index};
  const Run& described = runs_[run];
  const bool exact = triggers_are_exact(layout_), earlier = is_earlier(run, pivot);
  const auto blocks_where = [&](bool with_ties) {
    const auto end = std::partition_point(
        described.blocks.begin(), described.blocks.end(), [&](const RunBlock& block) {
          return block.trigger < pivot.trigger || (with_ties && block.trigger == pivot.trigger);
        });
    return static_cast<std::uint64_t>(end - described.blocks.begin());
  };
  const std::uint64_t surely = blocks_where(exact && earlier);
  const std::uint64_t perhaps = blocks_where(!exact || earlier);
  const std::uint64_t per_block = described.records_per_block;
  const auto in_interval = [&interval = splitter.intervals[run]](std::uint64_t count) {
    return std::clamp(count, interval.low, interval.high);
  };
  return {in_interval(surely == 0 ? 0 : (surely - 1) * per_block + 1),
          in_interval(perhaps * per_block)};
}

// `count` records of all ranks come before the pivot, and `wanted` before the splitter. If that
// does not say which comes first, records must be read.
void RunSplit::narrow(Splitter& splitter, const Pivot& pivot, Range count,
                      std::uint64_t wanted) const {
  for (std::uint32_t run = 0; run < runs_.size(); ++run) {
    const Range& here = splitter.counts[run];
    Range& interval = splitter.intervals[run];
    if (count.low >= wanted) interval.high = here.high;
    if (count.high == wanted) interval.low = here.low;
    if (count.high < wanted) interval.low = here.low + (is_in(pivot, run) ? 1 : 0);
  }
  if (count.low < wanted && wanted < count.high) splitter.by_records = true;
}

}  // namespace

RunCuts split_runs(const KeyLayout& layout, const std::vector<Run>& runs, BlockSource& source,
                   std::span<const std::uint64_t> starts, bool whole_keys,
                   std::span<std::byte> memory, std::size_t block_bytes, Peers& peers) {
  const std::size_t ranks = peers.ranks();
  RunSplit split(layout, runs, source, starts.first(ranks), memory, block_bytes, peers);
  split.find();
  if (whole_keys) split.move_to_keys();
  RunCuts cuts;
  for (std::size_t rank = 0; rank < ranks; ++rank) cuts.push_back(split.places(rank));
  std::vector<std::uint64_t> ends;
  std::uint64_t records = 0;
  for (const Run& run : runs) ends.push_back(run.records);
  for (const std::uint64_t own :
       gather(peers, std::accumulate(ends.begin(), ends.end(), records))) {
    records += own;
  }
  if (starts.back() < records) {  // not all records are wanted: one splitter more, of rank 0
    std::vector<std::uint64_t> end(ranks);
    end.front() = starts.back();
    RunSplit last(layout, runs, source, end, memory, block_bytes, peers);
    last.find();
    ends = last.places(0);
  }
  cuts.push_back(std::move(ends));
  return cuts;
}

}  // namespace xxl
