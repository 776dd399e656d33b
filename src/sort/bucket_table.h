// Replacement selection by buckets: the memory of run formation.
//
// Records that arrive are distributed by key into buckets; sorted runs leave bucket by bucket. The
// table is used like a clock. Buckets from the frontier on belong to the current run; a bucket that
// has left is reused, empty, for the next run, since a record that arrives now with such a key
// comes too late for the current one. When the frontier reaches the end it starts again at the
// first bucket with the next run.
//
//              next run               current run
//     [ b0 | b1 | b2 | b3 ] f-> [ b4 | b5 | b6 | b7 | b8 ]      f: frontier
//       full enough for later      next to leave: b4
//
// So memory is always full of records, nothing waits for a chunk to be complete, and on random
// input a run is twice as long as the memory; sorted input becomes one run. This is the queue pair
// Q, Q' of Dementiev and Sanders (SPAA'03, section 2.1, from Knuth 5.4.1) with buckets instead of
// sorted sequences: the work is a distribution pass on the way in and a cache-sized sort on the way
// out. A bucket that turns out too large to be sorted in cache (the input changed, or is sorted) is
// split by splitters sampled from it; one key that fills a bucket by itself needs no sorting.
//
// Distribution runs on all workers. The coordinator takes buckets out at any time, but must wait
// for the distributions begun before that to end, which may still be writing to them; it splits
// buckets only while no distribution is running.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/turns.h"
#include "record/key_layout.h"
#include "sort/classifier.h"
#include "sort/compared_classifier.h"
#include "sort/segment.h"
#include "sort/slab_chains.h"

namespace xxl {

class BucketTable {
 public:
  // Bound of `max_buckets`; and of the number wanted, which leaves room for splitting.
  static constexpr std::size_t kMaxBuckets = 8192;
  static constexpr std::size_t kMaxWanted = kMaxBuckets / 4;

  // `max_buckets`: the most there can ever be; at least four times the target.
  BucketTable(const KeyLayout& layout, SlabPool& slabs, std::size_t max_buckets,
              std::uint64_t seed);

  std::size_t buckets() const { return chains_.size(); }
  const SlabChains& slab_chains() const { return slab_chains_; }

  // Divides an empty table into about `buckets` buckets by keys sampled from `segment`. These are
  // the cells: buckets that come and go later are parts of them.
  void choose_splitters(const Segment& segment, std::size_t buckets);

  // --- any worker ---

  // Distributes the records of `segments` (in stable order). Calls are put in the order of their
  // `ticket` (0, 1, 2, ... since begin_round): earlier records stay before later ones. Every ticket
  // must be used; a call waits for the ones before it. False when fewer than `keep` slabs would be
  // left: nothing was stored, and all later tickets of the round fail too.
  bool distribute(Ticket ticket, std::span<const Segment> segments, const ScatterScratch& scratch,
                  std::size_t keep);

  // True if a bucket has grown beyond the limit and may be split; until begin_round.
  bool is_crowded() const { return crowded_.load(std::memory_order_relaxed); }

  // --- coordinator ---

  // A bucket is worth splitting beyond this many records.
  void set_crowded_limit(std::uint64_t records) { crowded_limit_ = records; }

  bool run_is_empty() const;  // nothing left in the current run
  bool empty() const;
  // Skips empty buckets and returns the records of the frontier bucket, 0 at the end of the run.
  std::uint64_t frontier_records();
  // True if the frontier bucket can only hold one key, so that its records need no sorting.
  bool frontier_is_one_key() const { return is_one_key(frontier_); }
  // The cell that the frontier bucket is part of, and whether it is all of it.
  std::size_t frontier_cell() const { return cell_of_[frontier_]; }
  bool frontier_is_whole_cell() const;
  // The boundaries of cells.
  std::span<const SplitterKey> cells() const { return cells_; }
  // Takes the frontier bucket out, unless it has more than `most` records (or none): then the chain
  // is empty. Its keys are the next run's from now on.
  Chain close_frontier(std::uint64_t most);
  // Ends the current run: the frontier goes back to the first bucket.
  void start_next_run();
  // Takes the records of the frontier bucket out, which stays in the current run.
  Chain empty_frontier();
  std::size_t frontier() const { return frontier_; }

  // --- coordinator, while no distribution runs ---

  // Splitting adds buckets: where there are more than the target, empty ones are joined to their
  // neighbours. Not to be called while a split bucket is distributed again.
  void join_empty();
  // A bucket of more than `records`, if there is one.
  std::optional<std::size_t> oversized(std::uint64_t records) const;
  // Splits `bucket` into about `parts`, taking its records out: they must be distributed again,
  // before anything that arrives later. An empty chain when it cannot be split.
  Chain split(std::size_t bucket, std::size_t parts);
  std::uint64_t records_in(std::size_t bucket) const { return chains_[bucket].records; }
  // Distribution may continue, with ticket 0.
  void begin_round();

 private:
  bool reserve(const ScatterScratch& scratch, std::size_t keep);
  std::vector<SplitterKey> splitters_of(std::vector<const std::byte*> sample,
                                        std::size_t parts) const;
  bool is_one_key(std::size_t bucket) const;
  bool ends_behind_one_key(std::size_t bucket, const SplitterKey& end) const;
  SplitterKey lower_bound_of(std::size_t bucket) const;

  const KeyLayout& layout_;
  SlabPool& slabs_;
  SlabChains slab_chains_;
  Classifier classifier_;
  std::optional<ComparedClassifier> compared_;  // in its place, where a comparator is the key
  std::vector<SplitterKey> splitters_;          // the classifier's, or those of the next round
  bool splitters_changed_ = false;
  mutable std::mutex mutex_;  // of chains_ while distributions run
  std::vector<Chain> chains_;
  std::vector<SplitterKey> cells_;
  std::vector<std::uint16_t> cell_of_;  // each bucket
  const std::size_t max_buckets_;
  std::size_t wanted_buckets_ = 1;
  std::size_t frontier_ = 0;
  Random random_;
  Turns turns_;
  std::atomic<bool> crowded_{false};
  std::uint64_t crowded_limit_ = ~std::uint64_t{0};
  bool full_ = false;  // a distribution failed; guarded by the turn
};

}  // namespace xxl
