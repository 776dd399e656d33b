#include "sort/cpu_chunk_sorter.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/task.h"
#include "base/units.h"

namespace xxl {
namespace {

constexpr std::size_t kMinSlabBytes = 2 * kKiB;
constexpr std::size_t kMaxSlabBytes = 64 * kKiB;
constexpr std::size_t kSlabsInAll = std::size_t{1} << 16;  // target, between those bounds
constexpr std::size_t kSplitSlabs = 32;                    // distributed again by one task
constexpr std::size_t kSplitParts = 64;                    // of a bucket at a time, at most
constexpr std::size_t kCrowdedPieces = 4;                  // beyond which a bucket is split early
constexpr std::size_t kMinBuckets = 8;
constexpr std::size_t kReadyPieces = 8;     // a worker, at the end
constexpr std::size_t kInputPerMemory = 4;  // slabs of input for each slab first used

std::size_t most_split_parts(std::size_t slabs) {
  return std::min(kSplitParts, slabs / 16 + 2);
}

}  // namespace

std::optional<CpuChunkGeometry> CpuChunkGeometry::plan(std::size_t memory_bytes,
                                                       const KeyLayout& layout, unsigned threads,
                                                       std::size_t push_records,
                                                       std::size_t piece_capacity) {
  const std::size_t record_bytes = layout.record_bytes();
  CpuChunkGeometry geometry;
  geometry.memory_bytes = memory_bytes;
  geometry.push_records = push_records;
  geometry.piece_capacity = piece_capacity;
  const std::size_t piece_bytes = piece_capacity / 2 * record_bytes;
  const std::size_t most_buckets =
      std::clamp<std::size_t>(2 * memory_bytes / piece_bytes, kMinBuckets, BucketTable::kMaxWanted);
  geometry.max_buckets = 4 * most_buckets;
  const std::size_t scratch_bytes =
      threads * (ScatterScratch::bytes(push_records, geometry.max_buckets) + kSectorBytes) +
      kSectorBytes;
  if (memory_bytes < 2 * scratch_bytes) return std::nullopt;
  const std::size_t slab_memory = memory_bytes - scratch_bytes;
  const std::size_t wanted = std::clamp(slab_memory / kSlabsInAll, kMinSlabBytes, kMaxSlabBytes);
  // A piece of one key is taken by whole slabs.
  const auto records_per_slab = std::clamp<std::size_t>(wanted / record_bytes, 1, piece_capacity);
  geometry.slab_bytes = records_per_slab * record_bytes;
  geometry.slabs = (slab_memory - 128) / (geometry.slab_bytes + sizeof(SlabId));
  geometry.buckets = std::clamp<std::size_t>(
      std::min(2 * slab_memory / piece_bytes, geometry.slabs / 16), kMinBuckets, most_buckets);
  const std::size_t split_slabs =
      std::clamp<std::size_t>(push_records / records_per_slab, 1, kSplitSlabs);
  geometry.reserve_slabs =
      2 * threads * split_slabs + (records_per_slab > 1 ? most_split_parts(geometry.slabs) : 0);
  const std::size_t push_slabs = ceil_div(push_records, records_per_slab) + kMinBuckets;
  if (geometry.slabs < 2 * (geometry.reserve_slabs + push_slabs)) return std::nullopt;
  geometry.headroom_slabs =
      std::min(geometry.reserve_slabs + 4 * threads * ceil_div(push_records, records_per_slab) +
                   std::min(geometry.buckets, push_records),
               geometry.slabs / 2);
  geometry.first_slabs = geometry.slabs;
  // Each bucket's last slab may hold a single record; early splits may double the buckets.
  const std::size_t held = geometry.slabs - geometry.headroom_slabs;
  geometry.resident_bytes = (held - std::min(held, 2 * geometry.buckets)) * geometry.slab_bytes;
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
      slabs_(memory.first(SlabPool::memory_bytes(geometry.slabs, geometry.slab_bytes)),
             geometry.slab_bytes),
      table_(layout, slabs_, geometry.max_buckets, seed) {
  Carver carver(memory);
  carver.take(SlabPool::memory_bytes(geometry.slabs, geometry.slab_bytes));
  for (unsigned thread = 0; thread < workers.width(); ++thread) {
    scratch_.push_back(ScatterScratch::carve(
        carver.take(ScatterScratch::bytes(geometry.push_records, geometry.max_buckets), 64),
        geometry.push_records, geometry.max_buckets));
  }
  slabs_.allow(geometry.first_slabs);
  table_.set_crowded_limit(kCrowdedPieces * geometry.piece_capacity);
}

std::size_t CpuChunkSorter::slabs_for(std::uint64_t records) const {
  return ceil_div<std::uint64_t>(records, table_.slab_chains().records_per_slab());
}

// On average a distribution takes the slabs that its records fill; at worst one more for each
// bucket.
bool CpuChunkSorter::has_room(const Arrival& arrival) const {
  if (!arrival.from_input()) return true;  // lives on the reserve and on what it gives back
  if (table_records_ == 0 && tasks_ == 0 && leaving_slabs() == 0) return true;
  const std::size_t exact = slabs_for(arrival.records);
  const std::size_t wanted =
      cautious_ ? exact + std::min(table_.buckets(), arrival.records) : exact + exact / 8 + 2;
  return slabs_.available() >= geometry_.reserve_slabs + expected_slabs_ + wanted;
}

bool CpuChunkSorter::push(const Segment& records, std::function<void()> taken) {
  XXL_CHECK(!sealed_ && records.count <= geometry_.push_records);
  if (!started_) {
    started_ = true;
    table_.choose_splitters(records, geometry_.buckets);
  }
  work();
  Arrival arrival;
  arrival.segments = {records};
  arrival.records = records.count;
  if (pausing_ || !waiting_.empty() || tasks_ >= 2 * workers_.width()) return false;
  if (!has_room(arrival)) {
    refused_ = true;
    return false;
  }
  refused_ = false;
  table_records_ += records.count;
  arrival.taken = std::move(taken);
  start(std::move(arrival));
  return true;
}

void CpuChunkSorter::seal() {
  sealed_ = true;
}

bool CpuChunkSorter::finished() const {
  return sealed_ && table_records_ == 0 && tasks_ == 0 && waiting_.empty() && ready_.empty();
}

void CpuChunkSorter::start(Arrival arrival) {
  const std::uint64_t ticket = first_running_ + running_.size();
  if (arrival.from_input()) expected_slabs_ += slabs_for(arrival.records);
  ++tasks_;
  running_.push_back(std::move(arrival));
  const Arrival& task = running_.back();
  run_task(workers_, mailbox_, in_flight_, [this, ticket, &task](unsigned thread) {
    MultisetHash hash;
    if (task.from_input()) {
      const Segment& block = task.segments.front();
      add_records(hash, block.records, block.count, layout_.record_bytes());
    }
    const std::size_t keep = task.from_input() ? geometry_.reserve_slabs : 0;
    const bool stored = table_.distribute(Ticket{ticket}, task.segments, scratch_[thread], keep);
    if (stored && !task.from_input()) slabs_.give_back(task.chain);
    mailbox_.post([this, ticket, stored, hash] { arrived(ticket, stored, hash); });
  });
}

void CpuChunkSorter::arrived(std::uint64_t ticket, bool stored, const MultisetHash& hash) {
  --tasks_;
  Arrival& arrival = running_[ticket - first_running_];
  if (arrival.from_input()) expected_slabs_ -= slabs_for(arrival.records);
  arrival.stored = stored;
  arrival.failed = !stored;
  if (!stored) {
    pausing_ = cautious_ = true;
    return;
  }
  if (arrival.from_input()) {
    input_hash_ += hash;
    cautious_ = false;
    touch_more(arrival.records);
    arrival.taken();
  } else {
    --splitting_;
  }
  while (!running_.empty() && running_.front().stored) {
    running_.pop_front();
    ++first_running_;
  }
}

// First touch is expensive on virtual machines: memory is used gradually, while the disks are busy.
void CpuChunkSorter::touch_more(std::size_t records) {
  input_records_ += records;
  if (geometry_.first_slabs < geometry_.slabs) {
    slabs_.allow(geometry_.first_slabs + slabs_for(input_records_ / kInputPerMemory));
  }
}

// True when buckets should be closed: so little memory is free or about to be free that
// distribution will soon stop; or the input has ended and the workers have little left to sort.
bool CpuChunkSorter::wants_to_close() const {
  if (table_records_ == 0 || splitting_ > 0) return false;
  if (sealed_ && waiting_.empty()) {
    return tasks_ == 0 && (streams_ > 1 || ready_.size() < kReadyPieces * workers_.width());
  }
  if ((refused_ || !waiting_.empty()) && tasks_ == 0 && leaving_slabs() == 0) return true;
  return slabs_.available() + leaving_slabs() < geometry_.headroom_slabs + expected_slabs_;
}

void CpuChunkSorter::work() {
  for (;;) {
    if (!pausing_) pausing_ = table_.is_crowded();
    while (!pausing_ && wants_to_close() && close_bucket()) {
    }
    if (!pausing_ || tasks_ > 0) break;
    change_table();
  }
  while (!pausing_ && !waiting_.empty() && tasks_ < 2 * workers_.width() &&
         has_room(waiting_.front())) {
    Arrival arrival = std::move(waiting_.front());
    waiting_.pop_front();
    start(std::move(arrival));
  }
}

// With no distribution under way: requeues those that found no room, splits a bucket if one is too
// large, and begins a new round.
void CpuChunkSorter::change_table() {
  for (std::size_t i = running_.size(); i-- > 0;) {
    if (running_[i].failed) {
      running_[i].failed = false;
      waiting_.push_front(std::move(running_[i]));
    }
  }
  running_.clear();
  first_running_ = 0;
  for (Ready& ready : ready_) ready.after = 0;
  if (splitting_ == 0) {
    table_.join_empty();
    if (split_frontier_) {
      break_up_frontier();
    } else if (table_.is_crowded()) {
      const auto bucket = table_.oversized(kCrowdedPieces * geometry_.piece_capacity);
      if (bucket) split(*bucket);
    }
  }
  split_frontier_ = false;
  table_.begin_round();
  pausing_ = false;
}

// Takes the records of a bucket out, to be distributed over smaller ones. False if it cannot be
// split.
bool CpuChunkSorter::split(std::size_t bucket) {
  const std::size_t parts = std::min<std::size_t>(
      ceil_div<std::uint64_t>(2 * table_.records_in(bucket), geometry_.piece_capacity),
      most_split_parts(geometry_.slabs));
  Chain chain = table_.split(bucket, parts);
  if (chain.records == 0) return false;
  const std::size_t slabs = std::clamp<std::size_t>(
      geometry_.push_records / table_.slab_chains().records_per_slab(), 1, kSplitSlabs);
  std::deque<Arrival> arrivals;
  while (chain.records > 0) {
    const Chain front = table_.slab_chains().take_front(chain, slabs);
    Arrival arrival;
    table_.slab_chains().append_segments(front, arrival.segments);
    arrival.records = front.records;
    arrival.chain = front.head;
    arrivals.push_back(std::move(arrival));
  }
  splitting_ += arrivals.size();
  waiting_.insert(waiting_.begin(), std::make_move_iterator(arrivals.begin()),
                  std::make_move_iterator(arrivals.end()));
  return true;
}

// Takes the next bucket out of the current run. False if there is none in the table, or if it must
// be split first, for which distribution is to pause.
bool CpuChunkSorter::close_bucket() {
  if (!sealed_ || !waiting_.empty() || tasks_ > 0) closed_early_ = true;
  std::uint64_t records;
  while ((records = table_.frontier_records()) == 0) {
    if (table_.empty()) return false;
    table_.start_next_run();
    ++run_;
  }
  const std::size_t cell = table_.frontier_cell();
  const bool one_key = table_.frontier_is_one_key();
  if (records > geometry_.piece_capacity && one_key) {
    // The bucket stays open: later records of this key follow these.
    close(table_.empty_frontier(), cell, false);
    return true;
  }
  // (A cell of one key may have left in part; it is in order in any case.)
  const bool whole_cell = !one_key && table_.frontier_is_whole_cell();
  const Chain chain = table_.close_frontier(geometry_.piece_capacity);
  if (chain.records > 0) {
    close(chain, cell, whole_cell);
    return true;
  }
  if (!one_key) pausing_ = split_frontier_ = true;
  return one_key;
}

// With no distribution under way: the frontier bucket is larger than a piece can be.
void CpuChunkSorter::break_up_frontier() {
  if (split(table_.frontier())) return;
  // Keys that differ only beyond what splitters hold: parts of the bucket become runs.
  const std::size_t cell = table_.frontier_cell();
  Chain chain = table_.close_frontier(~std::uint64_t{0});
  for (;;) {
    make_ready(table_.slab_chains().take_front(chain, piece_slabs()), cell, false);
    if (chain.records == 0) break;
    ++run_;
  }
}

std::size_t CpuChunkSorter::piece_slabs() const {
  return geometry_.piece_capacity / table_.slab_chains().records_per_slab();
}

void CpuChunkSorter::close(const Chain& chain, std::size_t cell, bool whole_cell) {
  keeps_rest() ? keep(chain, cell) : make_ready(chain, cell, whole_cell);
}

// From now on a bucket is closed at most once, so that records of equal keys stay in order.
void CpuChunkSorter::keep(const Chain& chain, std::size_t cell) {
  if (!end_run_) end_run_ = run_;
  table_records_ -= chain.records;
  if (kept_.size() <= cell) kept_.resize(table_.cells().size() + 1);
  Kept& kept = kept_[cell];
  kept.records += chain.records;
  (run_ == *end_run_ ? kept.upper : kept.lower).push_back(chain);
}

void CpuChunkSorter::append_kept(std::size_t cell, std::vector<Segment>& segments) const {
  if (cell >= kept_.size()) return;
  for (const Chain& chain : kept_[cell].lower)
    table_.slab_chains().append_segments(chain, segments);
  for (const Chain& chain : kept_[cell].upper)
    table_.slab_chains().append_segments(chain, segments);
}

void CpuChunkSorter::spill(const std::function<bool(std::size_t cell)>& spills) {
  ++run_;
  for (std::size_t cell = 0; cell < kept_.size(); ++cell) {
    if (kept_[cell].records == 0 || !spills(cell)) continue;
    const Kept kept = std::exchange(kept_[cell], {});
    const bool whole_cell = kept.lower.size() + kept.upper.size() == 1;
    for (const auto& chains : {kept.lower, kept.upper}) {
      for (const Chain& chain : chains) {
        table_records_ += chain.records;  // as it was before
        make_ready(chain, cell, whole_cell && chain.records <= geometry_.piece_capacity);
      }
    }
  }
}

void CpuChunkSorter::make_ready(const Chain& chain, std::size_t cell, bool whole_cell) {
  closed_slabs_ += slabs_for(chain.records);
  table_records_ -= chain.records;
  ready_.push_back({first_running_ + running_.size(), run_, cell, whole_cell, chain});
}

// The next piece, all of a bucket or a part of it.
CpuChunkSorter::Ready CpuChunkSorter::take_ready() {
  Ready ready = ready_.front();
  if (ready.chain.records > geometry_.piece_capacity) {
    ready.chain = table_.slab_chains().take_front(ready_.front().chain, piece_slabs());
  } else {
    ready_.pop_front();
  }
  return ready;
}

bool CpuChunkSorter::spread(std::size_t streams) {
  XXL_CHECK(sealed_ && !closed_early_ && !keeps_rest());
  streams_ = streams;
  return true;
}

// Brings all pieces into the order in which they leave; false while some are still in the table.
bool CpuChunkSorter::spread_out() {
  if (is_spread_) return true;
  if (table_records_ > 0 || tasks_ > 0 || !waiting_.empty()) return false;
  std::vector<std::deque<Ready>> streams(streams_);
  std::uint64_t first = given_records_;
  std::uint64_t records = first;
  for (const Ready& ready : ready_) records += ready.chain.records;
  while (!ready_.empty()) {
    Ready piece = take_ready();
    piece.first = first;
    streams[first * streams_ / records].push_back(piece);
    first += piece.chain.records;
  }
  for (bool any = true; any;) {
    any = false;
    for (auto& stream : streams) {
      if (stream.empty()) continue;
      ready_.push_back(stream.front());
      stream.pop_front();
      any = true;
    }
  }
  return is_spread_ = true;
}

std::optional<ChunkSorter::RunPiece> CpuChunkSorter::pull() {
  work();
  if (streams_ > 1 && !spread_out()) return std::nullopt;
  if (ready_.empty() || ready_.front().after > first_running_) return std::nullopt;
  const Ready ready = take_ready();
  given_records_ += ready.chain.records;
  RunPiece piece;
  piece.first = ready.first;
  piece.run = ready.run;
  piece.records = ready.chain.records;
  piece.cell = ready.cell;
  piece.whole_cell = ready.whole_cell;
  piece.leave_unsorted = [this, chain = ready.chain] {
    std::vector<Segment> segments;
    table_.slab_chains().append_segments(chain, segments);
    return UnsortedPiece(std::move(segments), layout_.record_bytes());
  };
  piece.sort = [this, chain = ready.chain](unsigned thread) -> const RecordSource& {
    std::vector<Segment> segments;
    table_.slab_chains().append_segments(chain, segments);
    sorters_[thread]->sort(segments);
    return *sorters_[thread];
  };
  piece.done = [this, chain = ready.chain] {
    slabs_.give_back(chain.head);
    freed_slabs_ += slabs_for(chain.records);
  };
  return piece;
}

}  // namespace xxl
