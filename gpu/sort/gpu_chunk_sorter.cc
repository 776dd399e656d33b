#include "gpu/sort/gpu_chunk_sorter.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/task.h"

namespace xxl::gpu {

GpuChunkSorter::GpuChunkSorter(const KeyLayout& layout, bool unique, std::vector<Device*> devices,
                               const ChunkGeometry& geometry, MultiGpu strategy,
                               std::span<std::byte> staging, Workers& workers, Mailbox& mailbox,
                               TimeLine* time_line)
    : layout_(layout),
      unique_(unique),
      piece_records_(geometry.piece_items),
      workers_(workers),
      mailbox_(mailbox),
      engine_(std::move(devices), ChunkFormat::of(layout), geometry, strategy, mailbox, time_line) {
  for (std::size_t at = 0; at + geometry.slice_bytes <= staging.size();
       at += geometry.slice_bytes) {
    slots_.push_back(std::make_unique<StagedSlice>(staging.data() + at, layout.record_bytes()));
    free_.push_back(slots_.back().get());
  }
  XXL_CHECK(!slots_.empty());
}

GpuChunkSorter::~GpuChunkSorter() = default;

bool GpuChunkSorter::push(const Segment& records, std::function<void()> taken) {
  send();
  if (!arrivals_.empty() && arrivals_.back()->sent < arrivals_.back()->records.count) return false;
  auto arrival = std::make_unique<Arrival>();
  arrival->records = records;
  arrival->taken = std::move(taken);
  arrival->pending = 1;
  Arrival* const hashed = arrival.get();
  run_task(workers_, mailbox_, in_flight_, [this, hashed](unsigned) {
    MultisetHash hash;
    add_records(hash, hashed->records.records, hashed->records.count, layout_.record_bytes());
    mailbox_.post([this, hashed, hash] {
      input_hash_ += hash;
      ended(*hashed);
    });
  });
  arrivals_.push_back(std::move(arrival));
  send();
  return true;
}

// Sends what has arrived, as far as there is room for it.
void GpuChunkSorter::send() {
  if (arrivals_.empty()) return;
  Arrival& arrival = *arrivals_.back();
  const std::size_t record_bytes = layout_.record_bytes();
  while (arrival.sent < arrival.records.count) {
    if (piece_ == nullptr) {
      piece_ = engine_.open_piece();
      if (piece_ == nullptr && engine_.chunk_is_full()) {
        engine_.seal();
        chunk_open_ = false;
        continue;
      }
      if (piece_ == nullptr) return;
      if (!chunk_open_) ++chunks_;
      chunk_open_ = true;
    }
    const std::size_t count =
        std::min(arrival.records.count - arrival.sent, piece_records_ - piece_filled_);
    ++arrival.pending;
    engine_.copy_in(*piece_, piece_->records + piece_filled_ * record_bytes,
                    arrival.records.records + arrival.sent * record_bytes, count * record_bytes,
                    [this, &arrival] { ended(arrival); });
    arrival.sent += count;
    piece_filled_ += count;
    if (piece_filled_ == piece_records_) close_piece();
  }
}

void GpuChunkSorter::close_piece() {
  engine_.close_piece(piece_, piece_filled_, piece_filled_ * layout_.record_bytes());
  piece_ = nullptr;
  piece_filled_ = 0;
}

// A copy of the block, or its hashing.
void GpuChunkSorter::ended(Arrival& arrival) {
  if (--arrival.pending > 0 || arrival.sent < arrival.records.count) return;
  const auto taken = std::move(arrival.taken);
  const auto it = std::find_if(arrivals_.begin(), arrivals_.end(),
                               [&](const auto& other) { return other.get() == &arrival; });
  arrivals_.erase(it);
  taken();
}

void GpuChunkSorter::seal() {
  sealed_ = true;
  end_input();
}

// When all of the input has been sent, the last chunk is complete.
void GpuChunkSorter::end_input() {
  if (!sealed_ || !chunk_open_) return;
  if (!arrivals_.empty() && arrivals_.back()->sent < arrivals_.back()->records.count) return;
  if (piece_ != nullptr) close_piece();
  engine_.seal();
  chunk_open_ = false;
}

void GpuChunkSorter::fetch() {
  while (!free_.empty()) {
    const auto slice = engine_.next_slice();
    if (!slice) return;
    StagedSlice* const slot = free_.back();
    free_.pop_back();
    coming_.push_back(std::make_unique<Coming>(Coming{*slice, slot}));
    Coming& coming = *coming_.back();
    engine_.copy_out(*slice, slot->data(), [&coming] { coming.there = true; });
  }
}

std::optional<ChunkSorter::RunPiece> GpuChunkSorter::pull() {
  send();
  end_input();
  fetch();
  if (coming_.empty() || !coming_.front()->there) return std::nullopt;
  const ChunkEngine::DeviceSlice slice = coming_.front()->slice;
  StagedSlice* const slot = coming_.front()->slot;
  coming_.pop_front();
  slot->set(slice.records);
  RunPiece piece;
  piece.run = slice.chunk;
  piece.records = slice.records;
  piece.sort = [this, slot](unsigned) -> const RecordSource& {
    if (unique_) slot->deduplicate(layout_);
    return *slot;
  };
  piece.done = [this, slot, token = in_flight_.begin()]() mutable {
    mailbox_.post([this, slot] { free_.push_back(slot); });
    token.reset();
  };
  return piece;
}

bool GpuChunkSorter::finished() const {
  return sealed_ && arrivals_.empty() && !chunk_open_ && engine_.empty() && coming_.empty();
}

}  // namespace xxl::gpu
