#include "sort/bucket_table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"

namespace xxl {
namespace {

// Keys sampled for each bucket to be made: the largest bucket is then about 1.6 times the average.
constexpr std::size_t kOversampling = 32;

}  // namespace

BucketTable::BucketTable(const KeyLayout& layout, SlabPool& slabs, std::size_t max_buckets,
                         std::uint64_t seed)
    : layout_(layout),
      slabs_(slabs),
      slab_chains_(slabs, layout.record_bytes()),
      classifier_(layout),
      chains_(1),
      cell_of_(1),
      max_buckets_(max_buckets),
      random_(seed) {
  XXL_CHECK(max_buckets <= kMaxBuckets);
  if (!layout.words_are_key()) compared_.emplace(layout);
}

void BucketTable::choose_splitters(const Segment& segment, std::size_t buckets) {
  XXL_CHECK(empty() && segment.count > 0 && buckets <= max_buckets_ / 4);
  wanted_buckets_ = buckets;
  std::vector<const std::byte*> sample;
  for (std::size_t i = 0; i < kOversampling * buckets; ++i) {
    sample.push_back(segment.records + random_.below(segment.count) * layout_.record_bytes());
  }
  if (compared_) compared_->guess_from(sample);
  splitters_ = splitters_of(std::move(sample), buckets);
  if (!compared_) round_splitters(splitters_);
  splitters_changed_ = true;
  cells_ = splitters_;
  chains_.assign(splitters_.size() + 1, {});
  cell_of_.resize(chains_.size());
  std::iota(cell_of_.begin(), cell_of_.end(), std::uint16_t{0});
  frontier_ = 0;
  begin_round();
}

// Splitters that divide what was sampled into about `parts` equal parts.
std::vector<SplitterKey> BucketTable::splitters_of(std::vector<const std::byte*> sample,
                                                   std::size_t parts) const {
  if (compared_) return compared_->splitters_of(std::move(sample), parts);
  std::vector<SplitterKey> keys;
  keys.reserve(sample.size());
  for (const std::byte* record : sample) keys.push_back(splitter_key(layout_, record));
  return pick_splitters(std::move(keys), parts);
}

bool BucketTable::distribute(Ticket ticket, std::span<const Segment> segments,
                             const ScatterScratch& scratch, std::size_t keep) {
  std::fill_n(scratch.counts, buckets(), 0);
  std::uint16_t* ids = scratch.ids;
  for (const Segment& segment : segments) {
    if (compared_) {
      compared_->classify(segment, ids, scratch.counts);
    } else {
      classifier_.classify(segment, ids, scratch.counts);
    }
    ids += segment.count;
  }
  turns_.wait_for(ticket);
  const bool reserved = reserve(scratch, keep);
  turns_.end(ticket);
  if (!reserved) return false;
  ids = scratch.ids;
  for (const Segment& segment : segments) {
    slab_chains_.scatter(segment, ids, scratch);
    ids += segment.count;
  }
  return true;
}

// Makes room for scratch.counts records in each bucket and notes where it is.
bool BucketTable::reserve(const ScatterScratch& scratch, std::size_t keep) {
  if (full_) return false;
  std::lock_guard lock(mutex_);
  std::size_t slabs = 0;
  for (std::size_t bucket = 0; bucket < buckets(); ++bucket) {
    slabs += slab_chains_.slabs_missing(chains_[bucket], scratch.counts[bucket]);
  }
  if (slabs + keep > slabs_.available()) {
    full_ = true;
    return false;
  }
  for (std::size_t bucket = 0; bucket < buckets(); ++bucket) {
    Chain& chain = chains_[bucket];
    const std::uint64_t limits_before = chain.records / crowded_limit_;
    slab_chains_.make_room(chain, bucket, scratch);
    if (chain.records / crowded_limit_ != limits_before && !is_one_key(bucket)) crowded_ = true;
  }
  return true;
}

void BucketTable::begin_round() {
  if (splitters_changed_) {
    if (compared_) {
      compared_->set_splitters(splitters_);
    } else {
      classifier_.set_splitters(splitters_);
    }
    splitters_changed_ = false;
  }
  turns_.restart();
  full_ = false;
  crowded_ = false;
}

bool BucketTable::run_is_empty() const {
  std::lock_guard lock(mutex_);
  return std::all_of(chains_.begin() + static_cast<std::ptrdiff_t>(frontier_), chains_.end(),
                     [](const Chain& chain) { return chain.records == 0; });
}

bool BucketTable::empty() const {
  std::lock_guard lock(mutex_);
  return std::all_of(chains_.begin(), chains_.end(),
                     [](const Chain& chain) { return chain.records == 0; });
}

std::uint64_t BucketTable::frontier_records() {
  std::lock_guard lock(mutex_);
  while (frontier_ < chains_.size() && chains_[frontier_].records == 0) ++frontier_;
  return frontier_ < chains_.size() ? chains_[frontier_].records : 0;
}

SplitterKey BucketTable::lower_bound_of(std::size_t bucket) const {
  if (bucket > 0) return splitters_[bucket - 1];
  return SplitterKey(std::min(layout_.words(), kMaxSplitterWords), 0);
}

bool BucketTable::is_one_key(std::size_t bucket) const {
  return layout_.words() <= kMaxSplitterWords &&
         ends_behind_one_key(bucket,
                             bucket == splitters_.size() ? SplitterKey{} : splitters_[bucket]);
}

// True if `end` (empty: there is none) is the least key of splitters above the start of `bucket`.
bool BucketTable::ends_behind_one_key(std::size_t bucket, const SplitterKey& end) const {
  return successor(lower_bound_of(bucket)) == end;
}

bool BucketTable::frontier_is_whole_cell() const {
  const std::size_t cell = cell_of_[frontier_];
  return (frontier_ == 0 || cell_of_[frontier_ - 1] != cell) &&
         (frontier_ + 1 == cell_of_.size() || cell_of_[frontier_ + 1] != cell);
}

Chain BucketTable::close_frontier(std::uint64_t most) {
  std::lock_guard lock(mutex_);
  if (chains_[frontier_].records > most || chains_[frontier_].records == 0) return {};
  return std::exchange(chains_[frontier_++], {});
}

// An empty bucket is joined to its neighbour below in the same cell, if both are of the same run;
// but not to one of a single key of splitters, which was split off because it is frequent: it would
// be split again, and for ever where keys are longer than those of splitters.
void BucketTable::join_empty() {
  if (chains_.size() <= wanted_buckets_) return;
  std::size_t kept = 1;
  std::size_t frontier = std::min<std::size_t>(frontier_, 1);
  for (std::size_t bucket = 1; bucket < chains_.size(); ++bucket) {
    const bool joined = chains_[bucket].records == 0 && bucket != frontier_ &&
                        cell_of_[bucket] == cell_of_[kept - 1] &&
                        !ends_behind_one_key(kept - 1, splitters_[bucket - 1]) &&
                        chains_.size() - bucket + kept > wanted_buckets_;
    if (joined) continue;
    if (bucket < frontier_) ++frontier;
    chains_[kept] = chains_[bucket];
    cell_of_[kept] = cell_of_[bucket];
    if (kept != bucket) splitters_[kept - 1] = std::move(splitters_[bucket - 1]);
    ++kept;
  }
  if (kept == chains_.size()) return;
  if (frontier_ == chains_.size()) frontier = kept;
  chains_.resize(kept);
  cell_of_.resize(kept);
  splitters_.resize(kept - 1);
  splitters_changed_ = true;
  frontier_ = frontier;
}

void BucketTable::start_next_run() {
  XXL_CHECK(run_is_empty());
  frontier_ = 0;
}

std::optional<std::size_t> BucketTable::oversized(std::uint64_t records) const {
  for (std::size_t bucket = 0; bucket < chains_.size(); ++bucket) {
    if (chains_[bucket].records > records && !is_one_key(bucket)) return bucket;
  }
  return std::nullopt;
}

Chain BucketTable::split(std::size_t bucket, std::size_t parts) {
  if (chains_.size() + 2 > max_buckets_) return {};
  parts = std::clamp<std::size_t>(parts, 2, max_buckets_ - chains_.size());
  std::vector<Segment> segments;
  slab_chains_.append_segments(chains_[bucket], segments);
  std::vector<const std::byte*> sample;
  for (std::size_t i = 0; i < kOversampling * parts; ++i) {
    const Segment& segment = segments[random_.below(segments.size())];
    sample.push_back(segment.records + random_.below(segment.count) * layout_.record_bytes());
  }
  std::vector<SplitterKey> inner = splitters_of(std::move(sample), parts);
  const SplitterKey low = lower_bound_of(bucket);
  std::erase_if(inner, [&](const SplitterKey& key) {
    return key <= low || (bucket < splitters_.size() && key >= splitters_[bucket]);
  });
  if (inner.size() > max_buckets_ - chains_.size()) inner.resize(max_buckets_ - chains_.size());
  if (inner.empty()) return {};
  const auto at = static_cast<std::ptrdiff_t>(bucket);
  splitters_.insert(splitters_.begin() + at, inner.begin(), inner.end());
  splitters_changed_ = true;
  const Chain chain = std::exchange(chains_[bucket], {});
  chains_.insert(chains_.begin() + at, inner.size(), {});
  cell_of_.insert(cell_of_.begin() + at, inner.size(), cell_of_[bucket]);
  if (bucket < frontier_) frontier_ += inner.size();
  return chain;
}

Chain BucketTable::empty_frontier() {
  std::lock_guard lock(mutex_);
  return std::exchange(chains_[frontier_], {});
}

}  // namespace xxl
