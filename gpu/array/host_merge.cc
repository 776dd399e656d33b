#include "gpu/array/host_merge.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/partition_index.h"
#include "base/units.h"
#include "gpu/array/item_merge.h"
#include "sort/key_sorter.h"

namespace xxl::gpu {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{512} << 10;  // merged in a processor's cache
constexpr std::size_t kItemBytes = 16;                       // that stands for a record
constexpr std::size_t kPiecesOfStretch = 8;

}  // namespace

// What is merged at once: of each sequence, segments.
class HostMerge::Round {
 public:
  explicit Round(const KeyLayout& layout) : layout_(layout), record_bytes_(layout.record_bytes()) {}

  void begin_sequence() { sequences_.push_back({}); }
  void add(const Segment& records, Holder holder) {
    Taken& taken = sequences_.back();
    taken.segments.push_back(records);
    taken.starts.push_back(taken.count);
    taken.count += records.count;
    count_ += records.count;
    holders_.push_back(std::move(holder));
  }
  std::uint64_t count() const { return count_; }

  // How many records of each sequence are among the first `rank` of all.
  std::vector<std::uint64_t> cut(std::uint64_t rank) const {
    return cut(rank, std::vector<std::uint64_t>(sequences_.size(), 0), count_);
  }
  // The same where `from` is the cut at a rank that is up to `distance` smaller.
  std::vector<std::uint64_t> cut(std::uint64_t rank, std::vector<std::uint64_t> from,
                                 std::uint64_t distance) const;
  // What lies between two cuts.
  std::vector<Segment> between(const std::vector<std::uint64_t>& from,
                               const std::vector<std::uint64_t>& to) const;

  std::byte* output = nullptr;
  std::size_t unfinished = 0;  // stretches

 private:
  struct Taken {
    std::vector<Segment> segments = {};
    std::vector<std::uint64_t> starts = {};  // of segments: records in front of them
    std::uint64_t count = 0;
  };

  static std::size_t segment_of(const Taken& taken, std::uint64_t index) {
    const auto next = std::upper_bound(taken.starts.begin(), taken.starts.end(), index);
    return static_cast<std::size_t>(next - taken.starts.begin()) - 1;
  }
  const std::byte* record(const Taken& taken, std::uint64_t index) const {
    const std::size_t segment = segment_of(taken, index);
    return taken.segments[segment].records + (index - taken.starts[segment]) * record_bytes_;
  }

  const KeyLayout& layout_;
  const std::size_t record_bytes_;
  std::vector<Taken> sequences_;
  std::vector<Holder> holders_;
  std::uint64_t count_ = 0;
};

// A pivot, from the middle of the longest range that is left, cuts all sequences; by how much lies
// in front of it, the cut is there or before, or behind.
std::vector<std::uint64_t> HostMerge::Round::cut(std::uint64_t rank,
                                                 std::vector<std::uint64_t> from,
                                                 std::uint64_t distance) const {
  const std::size_t count = sequences_.size();
  std::vector<std::uint64_t> to(count), split(count);
  for (std::size_t s = 0; s < count; ++s) {
    to[s] = std::min(sequences_[s].count, from[s] + distance);
  }
  for (;;) {
    std::size_t longest = 0;
    for (std::size_t s = 1; s < count; ++s) {
      if (to[s] - from[s] > to[longest] - from[longest]) longest = s;
    }
    if (to[longest] == from[longest]) return from;
    split[longest] = from[longest] + (to[longest] - from[longest]) / 2;
    const std::byte* const pivot = record(sequences_[longest], split[longest]);
    std::uint64_t before = 0;
    for (std::size_t s = 0; s < count; ++s) {
      if (s != longest) {
        split[s] = partition_index(from[s], to[s], [&](std::uint64_t index) {
          const int order = layout_.compare(record(sequences_[s], index), pivot);
          return order < 0 || (order == 0 && s < longest);
        });
      }
      before += split[s];
    }
    if (before >= rank) {
      to.swap(split);
    } else {
      from.swap(split);
      ++from[longest];
    }
  }
}

std::vector<Segment> HostMerge::Round::between(const std::vector<std::uint64_t>& from,
                                               const std::vector<std::uint64_t>& to) const {
  std::vector<Segment> segments;
  for (std::size_t s = 0; s < sequences_.size(); ++s) {
    const Taken& taken = sequences_[s];
    for (std::uint64_t at = from[s]; at < to[s];) {
      const std::size_t segment = segment_of(taken, at);
      const std::uint64_t first = at - taken.starts[segment];
      const std::size_t records =
          std::min<std::uint64_t>(taken.segments[segment].count - first, to[s] - at);
      segments.push_back({taken.segments[segment].records + first * record_bytes_, records});
      at += records;
    }
  }
  return segments;
}

HostMerge::HostMerge(const KeyLayout& layout, unsigned threads, Mailbox& mailbox,
                     TimeLine* time_line)
    : layout_(layout),
      mailbox_(mailbox),
      time_line_(time_line),
      piece_records_(kPieceBytes / std::max(layout.record_bytes(), kItemBytes / 2) + 1),
      workers_(threads) {
  XXL_CHECK(layout.words_are_key());
  const std::size_t bytes = std::max(key_sorter_bytes(layout, piece_records_),
                                     ItemMerge::scratch_bytes(layout, piece_records_));
  for (unsigned thread = 0; thread < workers_.width(); ++thread) scratch_.emplace_back(bytes);
}

HostMerge::~HostMerge() = default;

void HostMerge::begin(const std::vector<std::uint64_t>& records, std::byte* to) {
  XXL_CHECK(done());
  sequences_.clear();
  for (const std::uint64_t count : records) {
    sequences_.push_back({.coming = count});
    unwritten_ += count;
  }
  untaken_ = unwritten_;
  to_ = to;
}

void HostMerge::add(std::size_t sequence, const Segment& records, Holder holder) {
  Sequence& at = sequences_[sequence];
  XXL_CHECK(records.count <= at.coming);
  at.here += records.count;
  at.coming -= records.count;
  at.arrived.push_back({records, std::move(holder)});
}

void HostMerge::pump(std::uint64_t least) {
  std::size_t bounding = 0;
  const std::byte* const last = bound(bounding);
  const bool all_here = last == nullptr;
  std::vector<std::uint64_t> counts;
  std::uint64_t total = 0;
  for (std::size_t s = 0; s < sequences_.size(); ++s) {
    const Sequence& sequence = sequences_[s];
    if (sequence.coming > 0 && sequence.here == 0) return;
    counts.push_back(all_here ? sequence.here : mergeable(sequence, last, s <= bounding));
    total += counts.back();
  }
  if (total == 0 || (total < least && total < untaken_)) return;
  Round& round = *rounds_.emplace_back(std::make_unique<Round>(layout_));
  for (std::size_t s = 0; s < sequences_.size(); ++s) {
    if (counts[s] == 0) continue;
    round.begin_sequence();
    take(sequences_[s], counts[s], round);
  }
  start(round);
}

// The smallest last record of the sequences of which more is to come; null if there is none.
const std::byte* HostMerge::bound(std::size_t& sequence) const {
  const std::byte* smallest = nullptr;
  for (std::size_t s = 0; s < sequences_.size(); ++s) {
    if (sequences_[s].coming == 0 || sequences_[s].here == 0) continue;
    const Segment& part = sequences_[s].arrived.back().records;
    const std::byte* const last = part.records + (part.count - 1) * layout_.record_bytes();
    if (smallest == nullptr || layout_.compare(last, smallest) < 0) {
      smallest = last;
      sequence = s;
    }
  }
  return smallest;
}

// Records that are less than `bound`, or not greater.
std::uint64_t HostMerge::mergeable(const Sequence& sequence, const std::byte* bound,
                                   bool with_equal) const {
  const std::size_t record_bytes = layout_.record_bytes();
  const auto belongs = [&](const std::byte* record) {
    const int order = layout_.compare(record, bound);
    return order < 0 || (order == 0 && with_equal);
  };
  std::uint64_t count = 0;
  for (const ArrivedRecords& part : sequence.arrived) {
    const Segment& records = part.records;
    if (belongs(records.records + (records.count - 1) * record_bytes)) {
      count += records.count;
      continue;
    }
    return count + partition_index(0, records.count - 1, [&](std::size_t index) {
             return belongs(records.records + index * record_bytes);
           });
  }
  return count;
}

void HostMerge::take(Sequence& sequence, std::uint64_t count, Round& round) {
  sequence.here -= count;
  while (count > 0) {
    ArrivedRecords& part = sequence.arrived.front();
    const std::size_t records = std::min<std::uint64_t>(count, part.records.count);
    round.add({part.records.records, records}, part.holder);
    part.records.records += records * layout_.record_bytes();
    part.records.count -= records;
    count -= records;
    if (part.records.count == 0) sequence.arrived.pop_front();
  }
}

void HostMerge::start(Round& round) {
  const std::uint64_t count = round.count();
  round.output = to_;
  to_ += count * layout_.record_bytes();
  untaken_ -= count;
  const std::uint64_t stretch = kPiecesOfStretch * piece_records_;
  round.unfinished = ceil_div(count, stretch);
  for (std::uint64_t first = 0; first < count; first += stretch) {
    const std::uint64_t end = std::min(count, first + stretch);
    workers_.run([this, &round, first, end](unsigned thread) {
      const auto begun = TimeLine::now();
      mailbox_.guard([&] {
        merge(round, first, end, thread);
        mailbox_.post([this, &round, first, end] {
          unwritten_ -= end - first;
          if (--round.unfinished == 0) finish(round);
        });
      });
      if (time_line_ != nullptr) time_line_->add("merge", "merge", begun, TimeLine::now());
    });
  }
}

// The memory of its records is free again.
void HostMerge::finish(Round& round) {
  std::erase_if(rounds_, [&round](const auto& each) { return each.get() == &round; });
}

void HostMerge::merge(const Round& round, std::uint64_t first, std::uint64_t end, unsigned thread) {
  std::vector<std::uint64_t> from = round.cut(first);
  while (first < end) {
    const std::uint64_t next = std::min<std::uint64_t>(end, first + piece_records_);
    std::vector<std::uint64_t> to = round.cut(next, from, next - first);
    merge_piece(round.between(from, to), static_cast<std::size_t>(next - first),
                round.output + first * layout_.record_bytes(), scratch_[thread].span());
    from = std::move(to);
    first = next;
  }
}

void HostMerge::merge_piece(const std::vector<Segment>& segments, std::size_t records,
                            std::byte* to, std::span<std::byte> scratch) const {
  if (segments.size() == 1) {
    std::memcpy(to, segments[0].records, records * layout_.record_bytes());
  } else if (layout_.kind() != RecordKind::generic && segments.size() <= ItemMerge::kMostSegments) {
    ItemMerge(layout_, scratch).merge(segments, to);
  } else {
    const auto sorter = make_key_sorter(layout_, false, piece_records_, scratch);
    sorter->sort(segments);
    sorter->write(0, records, to);
  }
}

}  // namespace xxl::gpu
