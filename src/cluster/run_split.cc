#include "cluster/run_split.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "cluster/message.h"

namespace xxl {
namespace {

// A block of a run, the one that was asked for last.
class BlockReader {
 public:
  // `buffer`: of a block of any run. All references must outlive it.
  BlockReader(const Run& run, BlockSource& source, std::byte* buffer)
      : run_(run), source_(source), buffer_(buffer) {}
  BlockReader(const BlockReader&) = delete;
  BlockReader& operator=(const BlockReader&) = delete;
  ~BlockReader() { wait(); }

  // Starts to read the block of record `index`, which will be asked for next.
  void start(std::uint64_t index) {
    const std::uint64_t block = index / run_.records_per_block;
    if (block_ == block) return;
    wait();
    block_ = block;
    is_open_ = false;
    reading_ = true;
    failure_ = nullptr;
    source_.read(run_, run_.blocks[block], buffer_, [this](std::exception_ptr failure) {
      std::lock_guard lock(mutex_);
      failure_ = std::move(failure);
      reading_ = false;
      arrived_.notify_one();
    });
  }
  // Record `index`, until the next call. Throws Error.
  const std::byte* record(std::uint64_t index, std::size_t record_bytes) {
    start(index);
    if (!is_open_) {
      wait();
      if (failure_ != nullptr) std::rethrow_exception(failure_);
      source_.open(run_, run_.blocks[*block_], buffer_);
      is_open_ = true;
    }
    return buffer_ + index % run_.records_per_block * record_bytes;
  }

 private:
  void wait() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return !reading_; });
  }

  const Run& run_;
  BlockSource& source_;
  std::byte* const buffer_;
  std::optional<std::uint64_t> block_;
  bool is_open_ = false;  // it has been read and checked
  std::mutex mutex_;      // of what follows
  std::condition_variable arrived_;
  bool reading_ = false;
  std::exception_ptr failure_;
};

struct Interval {
  std::uint64_t low = 0;   // the place is not before this record,
  std::uint64_t high = 0;  // nor behind this one
  std::uint64_t size() const { return high - low; }
  std::uint64_t middle() const { return low + size() / 2; }
};

// A record that is compared with others: what of its key is known, and its place.
struct Pivot {
  std::uint64_t weight = 0;  // records in the intervals that it is the middle of
  std::uint32_t rank = 0;
  std::uint32_t run = 0;
  std::uint64_t index = 0;
  Trigger trigger;
  const std::byte* record = nullptr;  // null: only its trigger is known
};

// How many records come before a pivot, at least and at most.
struct Count {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

enum class Verdict : std::uint8_t {
  before,      // the splitter does not come behind the pivot
  at,          // it is the pivot
  behind,      // it comes behind
  not_before,  // it is the pivot or comes behind
  unknown,     // counts by triggers do not say
  none,        // there is no pivot
};

// One splitter, in the runs of one rank.
struct Splitter {
  std::vector<Interval> intervals;
  std::vector<Count> counts;  // of the present pivot
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
  const std::byte* record(Splitter& splitter, std::uint32_t run, std::uint64_t index) const {
    return splitter.readers[run].record(index, layout_.record_bytes());
  }
  Message own_first(Splitter& splitter);
  std::optional<Pivot> own_pivot(Splitter& splitter);
  Message pivot_message(const std::optional<Pivot>& pivot) const;
  Pivot read_pivot(const Message& message) const;
  Message chosen_pivot(const std::vector<Message>& candidates) const;
  Count count_before(Splitter& splitter, const Pivot& pivot);
  Count count_by_triggers(std::uint32_t run, const Pivot& pivot) const;
  std::uint64_t count_by_records(Splitter& splitter, std::uint32_t run, const Pivot& pivot);
  std::optional<std::uint64_t> next_to_compare(std::uint32_t run, const Pivot& pivot,
                                               Interval& interval) const;
  void start_middles(Splitter& splitter);
  void start_counting(Splitter& splitter, const Pivot& pivot);
  // Whether the pivot is a record of this run.
  bool is_in(const Pivot& pivot, std::uint32_t run) const {
    return pivot.rank == peers_.rank() && pivot.run == run;
  }
  bool is_before(const std::byte* record, std::uint32_t run, std::uint64_t index,
                 const Pivot& pivot) const;
  bool comes_first(const Pivot& a, const Pivot& b) const;
  Pivot median_of(std::vector<Pivot> pivots) const;
  Verdict judge(const std::vector<Message>& counts) const;
  void narrow(Splitter& splitter, Verdict verdict, const Pivot& pivot) const;

  const KeyLayout& layout_;
  const std::vector<Run>& runs_;
  const std::span<const std::uint64_t> starts_;
  Peers& peers_;
  std::vector<Splitter> splitters_;  // of all ranks
  bool own_by_records_ = false;      // of the splitter that this rank finds
};

RunSplit::RunSplit(const KeyLayout& layout, const std::vector<Run>& runs, BlockSource& source,
                   std::span<const std::uint64_t> starts, std::span<std::byte> memory,
                   std::size_t block_bytes, Peers& peers)
    : layout_(layout), runs_(runs), starts_(starts), peers_(peers), splitters_(peers.ranks()) {
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
  for (const Interval& interval : splitters_[rank].intervals) {
    XXL_CHECK(interval.size() == 0);
    places.push_back(interval.low);
  }
  return places;
}

void RunSplit::move_to_keys() {
  std::vector<Message> messages;
  for (Splitter& splitter : splitters_) messages.push_back(own_first(splitter));
  Message first;  // of all ranks, behind the splitter that this one finds
  for (Message& message : peers_.exchange(std::move(messages))) {
    if (message.empty()) continue;
    if (first.empty() || layout_.compare(message.data(), first.data()) < 0) first.swap(message);
  }
  const std::vector<Message> firsts = tell_all(peers_, first);
  for (std::size_t i = 0; i < splitters_.size(); ++i) {
    if (firsts[i].empty()) continue;  // nothing lies behind it
    for (std::uint32_t run = 0; run < runs_.size(); ++run) {
      Interval& interval = splitters_[i].intervals[run];
      const auto has_key = [&](std::uint64_t index) {
        return layout_.compare(record(splitters_[i], run, index), firsts[i].data()) == 0;
      };
      while (interval.low > 0 && has_key(interval.low - 1)) --interval.low;
      interval.high = interval.low;
    }
  }
}

// The smallest of this rank's records behind it; empty if there is none.
Message RunSplit::own_first(Splitter& splitter) {
  const std::byte* first = nullptr;
  for (std::uint32_t run = 0; run < runs_.size(); ++run) {
    const std::uint64_t place = splitter.intervals[run].low;
    if (place == runs_[run].records) continue;
    const std::byte* const here = record(splitter, run, place);
    if (first == nullptr || layout_.compare(here, first) < 0) first = here;
  }
  return first == nullptr ? Message() : Message(first, first + layout_.record_bytes());
}

// One pivot for each splitter. False when all have been found.
bool RunSplit::step() {
  const std::size_t ranks = splitters_.size();
  std::vector<Message> messages;
  for (Splitter& splitter : splitters_) start_middles(splitter);
  for (Splitter& splitter : splitters_) messages.push_back(pivot_message(own_pivot(splitter)));
  const Message chosen = chosen_pivot(peers_.exchange(std::move(messages)));
  const std::vector<Message> pivots = tell_all(peers_, chosen);
  messages.assign(ranks, {});
  for (std::size_t i = 0; i < ranks; ++i) {
    if (!pivots[i].empty()) start_counting(splitters_[i], read_pivot(pivots[i]));
  }
  for (std::size_t i = 0; i < ranks; ++i) {
    if (pivots[i].empty()) continue;
    MessageWriter writer;
    writer.put(count_before(splitters_[i], read_pivot(pivots[i])));
    messages[i] = writer.take();
  }
  const std::vector<Message> counts = peers_.exchange(std::move(messages));
  Verdict verdict = chosen.empty() ? Verdict::none : judge(counts);
  // Without a pivot, intervals are places, or no block starts within them.
  const bool ends = verdict == Verdict::none && own_by_records_;
  if (verdict == Verdict::none || verdict == Verdict::unknown) own_by_records_ = true;
  struct Decision {
    Verdict verdict;
    bool by_records;
    bool ends;
  };
  bool all_end = true;
  const std::vector<Decision> decisions = gather(peers_, Decision{verdict, own_by_records_, ends});
  for (std::size_t i = 0; i < ranks; ++i) {
    if (!pivots[i].empty()) narrow(splitters_[i], decisions[i].verdict, read_pivot(pivots[i]));
    splitters_[i].by_records = decisions[i].by_records;
    all_end = all_end && decisions[i].ends;
  }
  return !all_end;
}

// The weighted median of the middles of this rank's intervals: it halves them at least in part,
// whatever their sizes.
std::optional<Pivot> RunSplit::own_pivot(Splitter& splitter) {
  std::vector<Pivot> middles;
  for (std::uint32_t run = 0; run < runs_.size(); ++run) {
    const Interval& interval = splitter.intervals[run];
    if (interval.size() == 0) continue;
    Pivot pivot;
    pivot.weight = interval.size();
    pivot.rank = peers_.rank();
    pivot.run = run;
    pivot.index = interval.middle();
    if (splitter.by_records) {
      pivot.record = record(splitter, run, pivot.index);
      pivot.trigger = trigger_of(layout_, pivot.record);
    } else {
      const std::uint64_t block = pivot.index / runs_[run].records_per_block;
      pivot.index = block * runs_[run].records_per_block;
      if (pivot.index <= interval.low) continue;  // no block starts in its first half
      pivot.trigger = runs_[run].blocks[block].trigger;
    }
    middles.push_back(pivot);
  }
  if (middles.empty()) return std::nullopt;
  return median_of(std::move(middles));
}

// The weighted median, with the weight of all. Of one at least.
Pivot RunSplit::median_of(std::vector<Pivot> pivots) const {
  std::sort(pivots.begin(), pivots.end(),
            [this](const Pivot& a, const Pivot& b) { return comes_first(a, b); });
  std::uint64_t weight = 0;
  for (const Pivot& pivot : pivots) weight += pivot.weight;
  std::uint64_t before = 0;
  auto median = pivots.begin();
  while (before + median->weight <= weight / 2) before += (median++)->weight;
  median->weight = weight;
  return *median;
}

bool RunSplit::comes_first(const Pivot& a, const Pivot& b) const {
  if (a.trigger != b.trigger) return a.trigger < b.trigger;
  if (a.record != nullptr && b.record != nullptr) {
    const int order = layout_.compare(a.record, b.record);
    if (order != 0) return order < 0;
  }
  if (a.rank != b.rank) return a.rank < b.rank;
  return a.run != b.run ? a.run < b.run : a.index < b.index;
}

// ---- messages ----

Message RunSplit::pivot_message(const std::optional<Pivot>& pivot) const {
  MessageWriter writer;
  if (!pivot) return {};
  writer.put(*pivot);
  if (pivot->record != nullptr) writer.put_bytes({pivot->record, layout_.record_bytes()});
  return writer.take();
}

// Its record lies in the message.
Pivot RunSplit::read_pivot(const Message& message) const {
  MessageReader reader(message);
  auto pivot = reader.get<Pivot>();
  pivot.record = reader.at_end() ? nullptr : reader.get_bytes(layout_.record_bytes()).data();
  return pivot;
}

// The weighted median of those of all ranks.
Message RunSplit::chosen_pivot(const std::vector<Message>& candidates) const {
  std::vector<Pivot> pivots;
  for (const Message& message : candidates) {
    if (message.empty()) continue;
    pivots.push_back(read_pivot(message));
  }
  if (pivots.empty()) return {};
  return candidates[median_of(std::move(pivots)).rank];
}

// ---- counting ----

Count RunSplit::count_before(Splitter& splitter, const Pivot& pivot) {
  Count sum;
  for (std::uint32_t run = 0; run < runs_.size(); ++run) {
    Count& count = splitter.counts[run];
    if (is_in(pivot, run)) {
      count = {pivot.index, pivot.index};
    } else if (splitter.by_records) {
      const std::uint64_t records = count_by_records(splitter, run, pivot);
      count = {records, records};
    } else {
      count = count_by_triggers(run, pivot);
    }
    sum.least += count.least;
    sum.most += count.most;
  }
  return sum;
}

// The records up to the last block that surely starts before the pivot come before it, and no
// record from the first block on that surely starts behind.
Count RunSplit::count_by_triggers(std::uint32_t run, const Pivot& pivot) const {
  const Run& described = runs_[run];
  const bool is_earlier =
      peers_.rank() < pivot.rank || (peers_.rank() == pivot.rank && run < pivot.run);
  const bool exact = triggers_are_exact(layout_);
  const auto blocks_where = [&](bool with_ties) {
    const auto end = std::partition_point(
        described.blocks.begin(), described.blocks.end(), [&](const RunBlock& block) {
          return block.trigger < pivot.trigger || (with_ties && block.trigger == pivot.trigger);
        });
    return static_cast<std::uint64_t>(end - described.blocks.begin());
  };
  const std::uint64_t surely = blocks_where(exact && is_earlier);
  const std::uint64_t perhaps = blocks_where(!exact || is_earlier);
  const std::uint64_t per_block = described.records_per_block;
  return {surely == 0 ? 0 : (surely - 1) * per_block + 1,
          std::min(perhaps * per_block, described.records)};
}

// Narrows an interval of places for `pivot` as far as triggers do. Returns the record to compare
// next; none if one place is left.
std::optional<std::uint64_t> RunSplit::next_to_compare(std::uint32_t run, const Pivot& pivot,
                                                       Interval& interval) const {
  const std::uint64_t per_block = runs_[run].records_per_block;
  while (interval.size() > 0) {
    // Blocks that start in it, but for one at its start:
    const std::uint64_t first = interval.low / per_block + 1;
    const std::uint64_t last = (interval.high - 1) / per_block;
    if (first > last) return interval.middle();
    const std::uint64_t block = first + (last - first) / 2;
    const Trigger& trigger = runs_[run].blocks[block].trigger;
    if (trigger == pivot.trigger) return block * per_block;
    if (trigger < pivot.trigger) {
      interval.low = block * per_block + 1;
    } else {
      interval.high = block * per_block;
    }
  }
  return std::nullopt;
}

// In the run's interval: a pivot that is not behind the splitter has no more records before it in
// any run than the splitter, and one behind it no fewer, so what lies outside does not matter.
std::uint64_t RunSplit::count_by_records(Splitter& splitter, std::uint32_t run,
                                         const Pivot& pivot) {
  Interval interval = splitter.intervals[run];
  while (const auto index = next_to_compare(run, pivot, interval)) {
    if (is_before(record(splitter, run, *index), run, *index, pivot)) {
      interval.low = *index + 1;
    } else {
      interval.high = *index;
    }
  }
  return interval.low;
}

// Starts to read what own_pivot() and count_before() will need, of all splitters at the same time.
void RunSplit::start_middles(Splitter& splitter) {
  for (std::uint32_t run = 0; splitter.by_records && run < runs_.size(); ++run) {
    const Interval& interval = splitter.intervals[run];
    if (interval.size() > 0) splitter.readers[run].start(interval.middle());
  }
}

void RunSplit::start_counting(Splitter& splitter, const Pivot& pivot) {
  for (std::uint32_t run = 0; splitter.by_records && run < runs_.size(); ++run) {
    if (is_in(pivot, run)) continue;
    Interval interval = splitter.intervals[run];
    const auto index = next_to_compare(run, pivot, interval);
    if (index) splitter.readers[run].start(*index);
  }
}

bool RunSplit::is_before(const std::byte* record, std::uint32_t run, std::uint64_t index,
                         const Pivot& pivot) const {
  const int order = layout_.compare(record, pivot.record);
  if (order != 0) return order < 0;
  if (peers_.rank() != pivot.rank) return peers_.rank() < pivot.rank;
  return run != pivot.run ? run < pivot.run : index < pivot.index;
}

// ---- deciding ----

Verdict RunSplit::judge(const std::vector<Message>& counts) const {
  Count sum;
  for (const Message& message : counts) {
    const auto count = MessageReader(message).get<Count>();
    sum.least += count.least;
    sum.most += count.most;
  }
  const std::uint64_t wanted = starts_[peers_.rank()];
  if (sum.least == sum.most && sum.least == wanted) return Verdict::at;
  if (sum.least >= wanted) return Verdict::before;
  if (sum.most < wanted) return Verdict::behind;
  if (sum.most == wanted) return Verdict::not_before;
  return Verdict::unknown;
}

void RunSplit::narrow(Splitter& splitter, Verdict verdict, const Pivot& pivot) const {
  for (std::uint32_t run = 0; run < runs_.size(); ++run) {
    Interval& interval = splitter.intervals[run];
    const Count& count = splitter.counts[run];
    switch (verdict) {
      case Verdict::before:
        interval.high = std::clamp(count.most, interval.low, interval.high);
        break;
      case Verdict::at:
        interval = {count.least, count.least};
        break;
      case Verdict::behind:
      case Verdict::not_before:
        interval.low =
            std::clamp(count.least + (is_in(pivot, run) && verdict == Verdict::behind ? 1 : 0),
                       interval.low, interval.high);
        break;
      case Verdict::unknown:
      case Verdict::none:
        break;
    }
  }
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
