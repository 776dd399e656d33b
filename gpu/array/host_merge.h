// Merges sorted sequences of records on processors while they arrive, as far as they have arrived.
//
// Of sequences of which more is to come the smallest last record says how far all of them can be
// merged: what comes later is not smaller. That part, a round, is cut at exact ranks into stretches
// for all processors at once. They find the cuts by selection and merge pieces that fit their
// caches (item_merge.h, or by sorting them: piece_sorter.h). The next round is cut while this one
// is merged.
//
//     sequence 0   a d f | k . . .      last records k, h, and nothing more of 2:
//     sequence 1   b c g h | . . .      all up to h of sequence 1 can be merged
//     sequence 2   e | m n p
//
// Sources: Varman et al., "Merging multiple lists on hierarchical-memory multiprocessors" (1991);
// Singler, Sanders and Putze, "MCSTL" (Euro-Par 2007), section 4 (exact splitting).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "base/mailbox.h"
#include "base/memory_region.h"
#include "base/time_line.h"
#include "base/workers.h"
#include "record/key_layout.h"
#include "sort/segment.h"

namespace xxl::gpu {

class HostMerge {
 public:
  // Keeps memory that records lie in; gone when they have been merged.
  using Holder = std::shared_ptr<void>;

  // `layout`, whose words are its key, and `mailbox` must outlive it. `time_line` may be null.
  // Throws Error{no_space}.
  HostMerge(const KeyLayout& layout, unsigned threads, Mailbox& mailbox, TimeLine* time_line);
  ~HostMerge();

  // A merge of so many sorted sequences, of so many records each, to `to`. Equal keys come in the
  // order of their sequences. REQUIRES: done().
  void begin(const std::vector<std::uint64_t>& records, std::byte* to);
  // The next records of a sequence have arrived.
  void add(std::size_t sequence, const Segment& records, Holder holder);
  // Merges what can be merged if it is `least` records or more, or all that is left.
  void pump(std::uint64_t least);
  // True if everything has been written.
  bool done() const { return unwritten_ == 0; }

 private:
  struct ArrivedRecords {
    Segment records;
    Holder holder;
  };
  struct Sequence {
    std::deque<ArrivedRecords> arrived = {};  // that have arrived, and are not in a round
    std::uint64_t here = 0;                   // records of these
    std::uint64_t coming = 0;
  };
  class Round;

  const std::byte* bound(std::size_t& sequence) const;
  std::uint64_t mergeable(const Sequence& sequence, const std::byte* bound, bool with_equal) const;
  void take(Sequence& sequence, std::uint64_t count, Round& round);
  void start(Round& round);
  void finish(Round& round);
  void merge(const Round& round, std::uint64_t first, std::uint64_t end, unsigned thread);
  void merge_piece(const std::vector<Segment>& segments, std::size_t records, std::byte* to,
                   std::span<std::byte> scratch) const;

  const KeyLayout& layout_;
  Mailbox& mailbox_;
  TimeLine* time_line_;
  std::size_t piece_records_;
  std::vector<MemoryRegion> scratch_;  // of threads
  std::vector<Sequence> sequences_;
  std::vector<std::unique_ptr<Round>> rounds_;  // under way; the coordinator's
  std::byte* to_ = nullptr;                     // where the next round goes
  std::uint64_t untaken_ = 0;                   // records that are in no round
  std::uint64_t unwritten_ = 0;                 // records
  Workers workers_;                             // last: they use the rest
};

}  // namespace xxl::gpu
