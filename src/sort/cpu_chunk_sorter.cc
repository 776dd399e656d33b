#include "sort/cpu_chunk_sorter.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/task.h"
#include "base/units.h"
#include "sort/scatter.h"

namespace xxl {
namespace {

constexpr std::size_t kMinBuckets = 16;
constexpr std::size_t kLeastBlocks = 2;  // of a region
constexpr std::size_t kAlignment = 64;
// Keys sampled for each bucket to be made: the largest bucket is then about 1.6 times the average.
constexpr std::size_t kOversampling = 32;
// Blocks that have less of what a push may have are gathered.
constexpr std::size_t kShortPart = 2;

template <class T>
T* take_array(Carver& carver, std::size_t count) {
  return reinterpret_cast<T*>(carver.take(count * sizeof(T), kAlignment).data());
}

std::size_t scratch_bytes(std::size_t push_records, std::size_t record_bytes,
                          std::size_t max_buckets) {
  return push_records * (record_bytes + sizeof(std::uint16_t)) +
         2 * max_buckets * sizeof(std::uint32_t) + 4 * kAlignment;
}

// Makes places of counts: each bucket begins where the one before ends, the first at 0. Writes
// where they end, `before` records further on.
void place_buckets(std::uint32_t* counts, std::size_t buckets, std::uint32_t before,
                   std::uint32_t* ends) {
  std::uint32_t end = 0;
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    const std::uint32_t count = std::exchange(counts[bucket], end);
    end += count;
    ends[bucket] = before + end;
  }
}

// A comparator that is no order may move records out of the bucket that they were in.
void keep_inside(std::size_t first, std::size_t buckets, std::size_t records, std::uint16_t* ids,
                 std::uint32_t* counts) {
  const std::uint32_t* const begin = counts + first;
  if (std::accumulate(begin, begin + buckets, std::size_t{0}) == records) return;
  for (std::size_t i = 0; i < records; ++i) {
    if (ids[i] >= first && ids[i] < first + buckets) continue;
    ids[i] = static_cast<std::uint16_t>(first);
    ++counts[first];
  }
}

}  // namespace

std::optional<CpuChunkGeometry> CpuChunkGeometry::plan(std::size_t memory_bytes,
                                                       const KeyLayout& layout, unsigned threads,
                                                       std::size_t push_records,
                                                       std::size_t piece_capacity,
                                                       std::size_t regions) {
  const std::size_t record_bytes = layout.record_bytes();
  CpuChunkGeometry geometry;
  geometry.regions = regions;
  geometry.memory_bytes = memory_bytes;
  geometry.push_records = push_records;
  geometry.piece_capacity = piece_capacity;
  // Buckets of a full memory are half of the largest pieces.
  const std::size_t piece_bytes = piece_capacity / 2 * record_bytes;
  geometry.buckets = std::clamp<std::size_t>(memory_bytes / piece_bytes, kMinBuckets, kMostBuckets);
  const std::size_t beside =
      threads * scratch_bytes(push_records, record_bytes, geometry.max_buckets()) +
      push_records * record_bytes + (regions + 2) * kAlignment;
  if (memory_bytes < beside) return std::nullopt;
  geometry.region_bytes = round_down((memory_bytes - beside) / regions, kAlignment);
  const std::size_t block_bytes = push_records * record_bytes;
  const std::size_t table_bytes = geometry.max_buckets() * sizeof(std::uint32_t);
  if (geometry.region_bytes < kLeastBlocks * (block_bytes + table_bytes) + kAlignment) {
    return std::nullopt;
  }
  // At worst all blocks are just not short, and one more found no room.
  const std::size_t short_bytes = block_bytes / kShortPart;
  const std::size_t filled = geometry.region_bytes - block_bytes - table_bytes;
  geometry.resident_bytes = regions * (filled / (short_bytes + table_bytes)) * short_bytes;
  return geometry;
}

CpuChunkSorter::CpuChunkSorter(const KeyLayout& layout, const CpuChunkGeometry& geometry,
                               std::span<std::byte> memory, Workers& workers, Mailbox& mailbox,
                               std::vector<std::unique_ptr<PieceSorter>>& sorters,
                               std::uint64_t seed)
    : layout_(layout),
      geometry_(geometry),
      workers_(workers),
      mailbox_(mailbox),
      sorters_(sorters),
      random_(seed),
      regions_(geometry.regions),
      divider_(layout) {
  const std::size_t push_bytes = geometry.push_records * layout.record_bytes();
  Carver carver(memory);
  for (Region& region : regions_) {
    region.memory = carver.take(geometry.region_bytes, kAlignment);
    region.clear();
  }
  gathered_ = take_array<std::byte>(carver, push_bytes);
  for (unsigned thread = 0; thread < workers.width(); ++thread) {
    Scratch& scratch = scratch_.emplace_back();
    scratch.records = take_array<std::byte>(carver, push_bytes);
    scratch.ids = take_array<std::uint16_t>(carver, geometry.push_records);
    scratch.places = take_array<std::uint32_t>(carver, geometry.max_buckets());
    scratch.ends = take_array<std::uint32_t>(carver, geometry.max_buckets());
  }
}

void CpuChunkSorter::Region::clear() {
  begin = memory.data();
  end = begin + round_down(memory.size(), sizeof(std::uint32_t));
  blocks.clear();
  leaves = false;
}

// ---- what arrives ----

bool CpuChunkSorter::push(const Segment& records, std::function<void()> taken) {
  XXL_CHECK(!sealed_ && records.count <= geometry_.push_records);
  if (cell_buckets_.empty()) choose_cells(records);
  work();
  if (records.count < geometry_.push_records / kShortPart) {
    if (!gather(records)) return false;
    taken();
    return true;
  }
  return start_gathered() && start(records, std::move(taken));
}

void CpuChunkSorter::choose_cells(const Segment& records) {
  std::vector<const std::byte*> sample;
  for (std::size_t i = 0; i < kOversampling * geometry_.buckets; ++i) {
    sample.push_back(records.records + random_.below(records.count) * layout_.record_bytes());
  }
  divider_.guess_from(sample);
  cells_ = divider_.splitters_of(std::move(sample), geometry_.buckets);
  if (layout_.words_are_key()) round_splitters(cells_);
  divider_.set_splitters(cells_);
  cell_buckets_.push_back({divider_.lowest(), 0});
  for (const SplitterKey& key : cells_) {
    Bucket& before = cell_buckets_.back();
    before.one_key = divider_.is_one_key(before.low, &key);
    cell_buckets_.push_back({key, cell_buckets_.size()});
  }
  Bucket& last = cell_buckets_.back();
  last.one_key = divider_.is_one_key(last.low, nullptr);
}

// A block of a small file would have a large table.
bool CpuChunkSorter::gather(const Segment& records) {
  if (gathered_count_ + records.count > geometry_.push_records && !start_gathered()) return false;
  if (gathered_busy_) return false;
  const std::size_t record_bytes = layout_.record_bytes();
  std::memcpy(gathered_ + gathered_count_ * record_bytes, records.records,
              records.count * record_bytes);
  gathered_count_ += records.count;
  return true;
}

// False if there is no room for what was gathered.
bool CpuChunkSorter::start_gathered() {
  if (gathered_count_ == 0 || gathered_busy_) return gathered_count_ == 0;
  gathered_busy_ = start({gathered_, gathered_count_}, [this] { gathered_busy_ = false; });
  if (gathered_busy_) gathered_count_ = 0;
  return gathered_busy_;
}

bool CpuChunkSorter::start(const Segment& records, std::function<void()> taken) {
  if (tasks_ >= 2 * workers_.width()) return false;
  Region* const region = region_for(records.count);
  refused_ = region == nullptr;
  if (refused_) return false;
  region->end -= geometry_.max_buckets() * sizeof(std::uint32_t);
  const Divided block{region->begin, records.count, reinterpret_cast<std::uint32_t*>(region->end)};
  region->begin += records.count * layout_.record_bytes();
  region->blocks.push_back(block);
  ++region->tasks;
  ++tasks_;
  run_task(workers_, mailbox_, in_flight_,
           [this, records, block, region, taken = std::move(taken)](unsigned thread) mutable {
             MultisetHash hash;
             add_records(hash, records.records, records.count, layout_.record_bytes());
             divide(records, block, scratch_[thread]);
             mailbox_.post([this, region, hash, taken = std::move(taken)] {
               --region->tasks;
               --tasks_;
               input_hash_ += hash;
               taken();
             });
           });
  return true;
}

// The region that has room for a block; null if there is none now.
CpuChunkSorter::Region* CpuChunkSorter::region_for(std::size_t records) {
  const std::size_t bytes =
      records * layout_.record_bytes() + geometry_.max_buckets() * sizeof(std::uint32_t);
  for (;;) {
    for (Region& region : regions_) {
      if (filling_ == nullptr && region.blocks.empty()) filling_ = &region;
    }
    if (filling_ == nullptr) return nullptr;
    if (static_cast<std::size_t>(filling_->end - filling_->begin) >= bytes) return filling_;
    XXL_CHECK(!filling_->blocks.empty());
    full_.push_back(std::exchange(filling_, nullptr));
  }
}

void CpuChunkSorter::divide(const Segment& from, const Divided& to, const Scratch& scratch) const {
  std::fill_n(scratch.places, cell_buckets_.size(), 0);
  divider_.classify(from, scratch.ids, scratch.places);
  place_buckets(scratch.places, cell_buckets_.size(), 0, to.ends);
  scatter(from, layout_.record_bytes(), scratch.ids, scratch.places, to.records);
}

// ---- what leaves ----

void CpuChunkSorter::work() {
  while (!leaving_.empty() && leaving_.front()->done == leaving_.front()->pieces.size()) {
    for (Region* region : leaving_.front()->regions) region->clear();
    leaving_.pop_front();
  }
  if (sealed_) start_gathered();
  for (;;) {
    if (current_ != nullptr) {
      if (dividing_ > 0) return;
      if (!current_->is_ready) {
        if (divide_again()) continue;
        make_pieces(*current_);
      }
      if (!current_->is_pulled()) return;
      leaving_.push_back(std::exchange(current_, nullptr));
    }
    if (!may_leave()) return;
    current_ = take_leaving();
    if (keeps_rest()) {
      kept_ = std::exchange(current_, nullptr);
      kept_->regions.clear();  // never given back
      return;
    }
  }
}

bool CpuChunkSorter::may_leave() const {
  if (kept_ != nullptr) return false;
  const bool any_filled = filling_ != nullptr && !filling_->blocks.empty();
  if (sealed_ && gathered_count_ == 0) return tasks_ == 0 && (!full_.empty() || any_filled);
  if (full_.empty() || full_.front()->tasks > 0 || full_.back()->tasks > 0) return false;
  if (geometry_.long_runs) return refused_ && full_.size() == regions_.size();
  if (!geometry_.keeps_rest) return refused_ || geometry_.leaves_early || left_early_;
  // One at a time, when the last region begins to fill.
  return std::none_of(regions_.begin(), regions_.end(),
                      [](const Region& each) { return each.blocks.empty() || each.leaves; });
}

// All that is there, or the region that was filled first.
std::shared_ptr<CpuChunkSorter::Leaving> CpuChunkSorter::take_leaving() {
  auto leaving = std::make_shared<Leaving>();
  leaving->is_last = sealed_ && gathered_count_ == 0;
  left_early_ |= !leaving->is_last;
  if (leaving->is_last && filling_ != nullptr) full_.push_back(std::exchange(filling_, nullptr));
  do {
    Region& region = *full_.front();
    full_.pop_front();
    region.leaves = true;
    leaving->regions.push_back(&region);
    leaving->blocks.insert(leaving->blocks.end(), region.blocks.begin(), region.blocks.end());
  } while ((leaving->is_last || geometry_.long_runs) && !full_.empty());
  leaving->buckets = cell_buckets_;
  count_records(*leaving);
  return leaving;
}

void CpuChunkSorter::count_records(Leaving& leaving) const {
  for (Bucket& bucket : leaving.buckets) bucket.records = 0;
  for (const Divided& block : leaving.blocks) {
    std::uint32_t begin = 0;
    for (std::size_t i = 0; i < leaving.buckets.size(); ++i) {
      leaving.buckets[i].records += block.ends[i] - begin;
      begin = block.ends[i];
    }
  }
}

// Has the blocks of current_ divided again where buckets are too large for a piece. False if none
// is. Empty buckets go: tables have room for those of the blocks and as many more.
bool CpuChunkSorter::divide_again() {
  const std::vector<Bucket>& before = current_->buckets;
  const auto is_too_large = [&](const Bucket& bucket) {
    return bucket.records > geometry_.piece_capacity && !bucket.one_key && !bucket.solid &&
           (spilled_.empty() || is_spilled(bucket.cell));
  };
  if (std::none_of(before.begin(), before.end(), is_too_large)) return false;
  division_ = std::make_unique<Division>(Division{{}, {}, KeyDivider(layout_)});
  Division& division = *division_;
  std::size_t room = geometry_.max_buckets();
  for (const Bucket& bucket : before) room -= bucket.records > 0 ? 1 : 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    division.first.push_back(division.buckets.size());
    if (before[i].records == 0) continue;
    division.buckets.push_back(before[i]);
    if (!is_too_large(before[i])) continue;
    const std::size_t parts = std::min<std::size_t>(
        ceil_div<std::uint64_t>(2 * before[i].records, geometry_.piece_capacity), room + 1);
    const std::vector<SplitterKey> inner = inner_splitters(division, i, parts);
    room -= inner.size();
    division.buckets.back().solid = inner.empty();
    for (const SplitterKey& key : inner) {
      Bucket& last = division.buckets.back();
      last.one_key = division.divider.is_one_key(last.low, &key);
      division.buckets.push_back({key, before[i].cell});
    }
    Bucket& last = division.buckets.back();
    const SplitterKey* const end = i + 1 < before.size() ? &before[i + 1].low : nullptr;
    last.one_key = division.divider.is_one_key(last.low, end);
  }
  division.first.push_back(division.buckets.size());
  std::vector<SplitterKey> splitters;
  for (const Bucket& bucket : division.buckets) splitters.push_back(bucket.low);
  splitters.erase(splitters.begin());
  division.divider.set_splitters(splitters);
  dividing_ = current_->blocks.size();
  for (const Divided& block : current_->blocks) {
    run_task(workers_, mailbox_, in_flight_, [this, &block](unsigned thread) {
      divide_again(block, scratch_[thread]);
      mailbox_.post([this] {
        if (--dividing_ > 0) return;
        current_->buckets = std::move(division_->buckets);
        division_.reset();
        count_records(*current_);
      });
    });
  }
  return true;
}

// Splitters strictly inside a bucket of current_, of up to `parts` parts, sampled evenly from all
// of its records.
std::vector<SplitterKey> CpuChunkSorter::inner_splitters(const Division& division,
                                                         std::size_t bucket, std::size_t parts) {
  if (parts < 2) return {};
  const std::vector<Bucket>& buckets = current_->buckets;
  const std::uint64_t records = buckets[bucket].records;
  const std::size_t count = kOversampling * parts;
  std::vector<const std::byte*> sample;
  sample.reserve(count);
  auto block = current_->blocks.begin();
  std::uint64_t before = 0;  // records in blocks before
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t at =
        i * records / count + random_.below(std::max<std::uint64_t>(records / count, 1));
    std::uint32_t begin;
    for (;; ++block) {
      begin = bucket == 0 ? 0 : block->ends[bucket - 1];
      const std::uint32_t here = block->ends[bucket] - begin;
      if (at < before + here) break;
      before += here;
    }
    sample.push_back(block->records + (begin + (at - before)) * layout_.record_bytes());
  }
  std::vector<SplitterKey> inner = division.divider.splitters_of(std::move(sample), parts);
  std::erase_if(inner, [&](const SplitterKey& key) {
    return key <= buckets[bucket].low ||
           (bucket + 1 < buckets.size() && key >= buckets[bucket + 1].low);
  });
  if (inner.size() >= parts) inner.resize(parts - 1);
  return inner;
}

void CpuChunkSorter::divide_again(const Divided& block, const Scratch& scratch) const {
  const std::size_t record_bytes = layout_.record_bytes();
  const Division& division = *division_;
  std::uint32_t begin = 0;
  for (std::size_t i = 0; i + 1 < division.first.size(); ++i) {
    const std::size_t first = division.first[i], parts = division.first[i + 1] - first;
    const std::uint32_t end = block.ends[i];
    if (parts == 1) scratch.ends[first] = end;
    if (parts > 1) {
      const Segment from{block.records + begin * record_bytes, end - begin};
      std::fill_n(scratch.places + first, parts, 0);
      division.divider.classify(from, scratch.ids, scratch.places);
      keep_inside(first, parts, from.count, scratch.ids, scratch.places);
      place_buckets(scratch.places + first, parts, begin, scratch.ends + first);
      scatter(from, record_bytes, scratch.ids, scratch.places, scratch.records);
      std::memcpy(block.records + begin * record_bytes, scratch.records, from.count * record_bytes);
    }
    begin = end;
  }
  std::copy_n(scratch.ends, division.first.back(), block.ends);
}

// The record with the smallest or the largest key of a bucket that has some.
const std::byte* CpuChunkSorter::outermost(const Leaving& leaving, std::size_t bucket,
                                           bool largest) const {
  const std::byte* best = nullptr;
  for (const Divided& block : leaving.blocks) {
    for (std::uint32_t i = bucket == 0 ? 0 : block.ends[bucket - 1]; i < block.ends[bucket]; ++i) {
      const std::byte* const record = block.records + i * layout_.record_bytes();
      if (best != nullptr) {
        const int order = layout_.compare(record, best);
        if (largest ? order <= 0 : order >= 0) continue;
      }
      best = record;
      if (leaving.buckets[bucket].one_key) return best;
    }
  }
  return best;
}

void CpuChunkSorter::make_pieces(Leaving& leaving) {
  leaving.is_ready = true;
  std::vector<std::size_t> buckets;  // that leave
  for (std::size_t i = 0; i < leaving.buckets.size(); ++i) {
    const Bucket& bucket = leaving.buckets[i];
    const bool leaves = spilled_.empty() || is_spilled(bucket.cell);
    if (bucket.records > 0 && leaves) buckets.push_back(i);
  }
  if (buckets.empty()) return;
  const bool goes_on =
      !largest_.empty() &&
      layout_.compare(largest_.data(), outermost(leaving, buckets.front(), false)) <= 0;
  if (!largest_.empty() && !goes_on) ++run_;
  const std::byte* const largest = outermost(leaving, buckets.back(), true);
  largest_.assign(largest, largest + layout_.record_bytes());
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const Bucket& bucket = leaving.buckets[buckets[i]];
    const auto has_of_cell = [&](std::size_t other) {
      return leaving.buckets[buckets[other]].cell == bucket.cell;
    };
    // The run may have more of its first cell, from before, and of its last one, from what follows.
    const bool begins_cell = i == 0 ? !goes_on : !has_of_cell(i - 1);
    const bool ends_cell = i + 1 == buckets.size() ? leaving.is_last : !has_of_cell(i + 1);
    const bool fits = bucket.records <= geometry_.whole_capacity();
    for (std::uint64_t skipped = 0; skipped < bucket.records;) {
      // Keys differ only beyond what splitters hold: each part is in order, but not all of them.
      if (skipped > 0 && !bucket.one_key) ++run_;
      const auto records = static_cast<std::size_t>(
          std::min<std::uint64_t>(bucket.records - skipped, geometry_.piece_capacity));
      leaving.pieces.push_back(
          {buckets[i], skipped, records, run_, first, fits && begins_cell && ends_cell});
      skipped += records;
      first += records;
    }
  }
}

// Appends where the records of buckets [first, last) are, without those that come before, up to
// `count`.
void CpuChunkSorter::append_segments(const Leaving& leaving, std::size_t first, std::size_t last,
                                     std::uint64_t skipped, std::uint64_t count,
                                     std::vector<Segment>& segments) const {
  for (const Divided& block : leaving.blocks) {
    if (count == 0) break;
    const std::uint32_t begin = first == 0 ? 0 : block.ends[first - 1];
    const std::uint32_t here = block.ends[last - 1] - begin;
    if (here <= skipped) {
      skipped -= here;
      continue;
    }
    const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(here - skipped, count));
    segments.push_back({block.records + (begin + skipped) * layout_.record_bytes(), taken});
    skipped = 0;
    count -= taken;
  }
}

std::vector<Segment> CpuChunkSorter::segments_of(const Leaving& leaving, const Piece& piece) const {
  std::vector<Segment> segments;
  segments.reserve(leaving.blocks.size());
  append_segments(leaving, piece.bucket, piece.bucket + 1, piece.skipped, piece.records, segments);
  return segments;
}

std::optional<ChunkSorter::RunPiece> CpuChunkSorter::pull() {
  work();
  if (current_ == nullptr || !current_->is_ready || current_->is_pulled()) return std::nullopt;
  const Piece& piece = current_->pieces[current_->next++];
  RunPiece pulled;
  pulled.run = piece.run;
  pulled.first = piece.first;
  pulled.records = piece.records;
  pulled.cell = current_->buckets[piece.bucket].cell;
  pulled.whole_cell = piece.whole_cell;
  pulled.leave_unsorted = [this, leaving = current_, &piece] {
    return UnsortedPiece(segments_of(*leaving, piece), layout_.record_bytes());
  };
  pulled.sort = [this, leaving = current_, &piece](unsigned thread) -> const RecordSource& {
    sorters_[thread]->sort(segments_of(*leaving, piece));
    return *sorters_[thread];
  };
  pulled.done = [leaving = current_] { ++leaving->done; };
  return pulled;
}

bool CpuChunkSorter::finished() const {
  if (!sealed_ || tasks_ > 0 || gathered_count_ > 0) return false;
  return (current_ == nullptr || current_->is_pulled()) && !may_leave();
}

bool CpuChunkSorter::spread(std::size_t streams) {
  XXL_CHECK(sealed_ && !left_early_ && !keeps_rest() && current_ != nullptr);
  std::vector<Piece>& pieces = current_->pieces;
  const std::uint64_t records = pieces.back().first + pieces.back().records;
  std::vector<std::deque<Piece>> of_streams(streams);
  for (std::size_t i = current_->next; i < pieces.size(); ++i) {
    of_streams[pieces[i].first * streams / records].push_back(pieces[i]);
  }
  for (std::size_t i = current_->next; i < pieces.size();) {
    for (auto& stream : of_streams) {
      if (stream.empty()) continue;
      pieces[i++] = stream.front();
      stream.pop_front();
    }
  }
  return true;
}

// ---- what is kept ----

// [first, last) of kept_->buckets.
std::pair<std::size_t, std::size_t> CpuChunkSorter::kept_buckets(std::size_t cell) const {
  if (kept_ == nullptr || is_spilled(cell)) return {0, 0};
  const auto& buckets = kept_->buckets;
  const auto first = std::partition_point(buckets.begin(), buckets.end(),
                                          [&](const Bucket& each) { return each.cell < cell; });
  const auto last = std::partition_point(first, buckets.end(),
                                         [&](const Bucket& each) { return each.cell == cell; });
  return {first - buckets.begin(), last - buckets.begin()};
}

std::uint64_t CpuChunkSorter::kept_records(std::size_t cell) const {
  std::uint64_t records = 0;
  const auto [first, last] = kept_buckets(cell);
  for (std::size_t i = first; i < last; ++i) records += kept_->buckets[i].records;
  return records;
}

void CpuChunkSorter::append_kept(std::size_t cell, std::vector<Segment>& segments) const {
  const auto [first, last] = kept_buckets(cell);
  if (first < last) append_segments(*kept_, first, last, 0, ~std::uint64_t{0}, segments);
}

void CpuChunkSorter::spill(const std::function<bool(std::size_t cell)>& spills) {
  std::vector<std::uint8_t> spilled(cell_buckets_.size());
  for (std::size_t cell = 0; cell < spilled.size(); ++cell) {
    spilled[cell] = kept_records(cell) > 0 && spills(cell) ? 1 : 0;
  }
  if (std::none_of(spilled.begin(), spilled.end(), [](std::uint8_t each) { return each != 0; })) {
    return;
  }
  spilled_ = std::move(spilled);
  largest_.clear();
  ++run_;
  current_ = kept_;
}

}  // namespace xxl
