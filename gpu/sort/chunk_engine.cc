#include "gpu/sort/chunk_engine.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.h"

namespace xxl::gpu {
namespace {

constexpr std::size_t kSmallRounds = 4;  // of batches, each twice as large as the last

}  // namespace

// --- arriving ---

ChunkEngine::ChunkEngine(std::vector<Device*> devices, const ChunkFormat& format,
                         const ChunkGeometry& geometry, MultiGpu strategy, Mailbox& mailbox,
                         TimeLine* time_line, const CopyWays& ways)
    : devices_(std::move(devices)), format_(format), geometry_(geometry), strategy_(strategy) {
  XXL_CHECK(strategy != MultiGpu::automatic && !devices_.empty());
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    lanes_.push_back(std::make_unique<EngineLane>(*devices_[i], share_of(ways, i, devices_.size()),
                                                  i, format_, geometry_, mailbox, time_line));
  }
  queues_.resize(lanes_.size());
  const bool alone = strategy_ == MultiGpu::independent;
  chunks_.resize(geometry_.chunks * (alone ? devices_.size() : 1));
  for (std::size_t slot = 0; slot < chunks_.size(); ++slot) {
    if (alone) {
      chunks_[slot].devices = {slot % devices_.size()};
    } else {
      for (std::size_t i = 0; i < devices_.size(); ++i) chunks_[slot].devices.push_back(i);
    }
  }
}

ChunkEngine::~ChunkEngine() {
  // No device's memory is freed while a task of another one may still read it.
  for (const auto& lane : lanes_) lane->end_threads();
}

std::size_t ChunkEngine::arena_of(std::size_t chunk) const {
  return strategy_ == MultiGpu::independent ? chunk / devices_.size() : chunk;
}

ChunkEngine::ChunkSlot* ChunkEngine::chunk_to_fill() {
  if (filling_ == nullptr) {
    ChunkSlot& next = chunks_[chunk_numbers_ % chunks_.size()];
    if (next.state != ChunkState::free) return nullptr;
    next.state = ChunkState::filling;
    next.number = chunk_numbers_++;
    next.records = 0;
    filling_ = &next;
  }
  return filling_;
}

bool ChunkEngine::can_begin_chunk() const {
  return filling_ == nullptr && chunks_[chunk_numbers_ % chunks_.size()].state == ChunkState::free;
}

bool ChunkEngine::has_room(const ChunkSlot& chunk, std::size_t device) const {
  const auto slot = static_cast<std::size_t>(&chunk - chunks_.data());
  const EngineLane::Arena& arena = lanes_[device]->arenas[arena_of(slot)];
  return arena.pieces < geometry_.device_pieces &&
         arena.room() >= geometry_.arena_piece_bytes(format_);
}

bool ChunkEngine::chunk_is_full() const {
  return filling_ != nullptr &&
         std::none_of(filling_->devices.begin(), filling_->devices.end(),
                      [this](std::size_t device) { return has_room(*filling_, device); });
}

ChunkEngine::DevicePiece* ChunkEngine::open_piece() {
  ChunkSlot* const chunk = chunk_to_fill();
  if (chunk == nullptr) return nullptr;
  const auto slot = static_cast<std::size_t>(chunk - chunks_.data());
  const bool lands = geometry_.landing_bytes(format_) > 0;
  for (std::size_t i = 0; i < chunk->devices.size(); ++i) {
    const std::size_t device = chunk->devices[(piece_numbers_ + i) % chunk->devices.size()];
    if (!has_room(*chunk, device)) continue;
    EngineLane& lane = *lanes_[device];
    if (lands && lane.landing.empty()) return nullptr;
    auto piece = std::make_unique<DevicePiece>();
    piece->device = device;
    piece->number = piece_numbers_++;
    piece->chunk = slot;
    if (lands) {
      piece->landing = lane.landing.back();
      lane.landing.pop_back();
    }
    EngineLane::Arena& arena = lane.arenas[arena_of(slot)];
    ++arena.pieces;
    arena.promised += 2 * kAreaAlignment + geometry_.piece_items * format_.shape.item.bytes();
    if (format_.shape.by_address) {
      piece->records = arena.begin + arena.front;
      arena.front += aligned(geometry_.piece_bytes);
    } else {
      piece->records = piece->landing;
    }
    if (format_.text) {
      piece->items = {piece->landing,
                      piece->landing + aligned(geometry_.piece_items * sizeof(std::uint64_t)),
                      geometry_.piece_items};
    }
    ++chunk->unsorted;
    chunk->pieces.push_back(std::move(piece));
    return chunk->pieces.back().get();
  }
  return nullptr;
}

void ChunkEngine::copy_in(DevicePiece& piece, std::byte* device, const std::byte* host,
                          std::size_t bytes, std::function<void()> done) {
  ++piece.copies;
  lanes_[piece.device]->link.copy_in(device, host, bytes, [this, &piece, done = std::move(done)] {
    done();
    copy_ended(piece);
  });
}

void ChunkEngine::copy_ended(DevicePiece& piece) {
  --piece.copies;
  if (piece.closed && piece.copies == 0) sort_piece(piece);
}

void ChunkEngine::close_piece(DevicePiece* piece, std::size_t items, std::size_t bytes) {
  XXL_CHECK(items <= geometry_.piece_items && bytes <= geometry_.piece_bytes && !piece->closed);
  EngineLane::Arena& arena = lanes_[piece->device]->arenas[arena_of(piece->chunk)];
  const ItemShape& item = format_.shape.item;
  arena.promised -= 2 * kAreaAlignment + geometry_.piece_items * item.bytes();
  arena.back -= item.area_bytes(items);
  std::byte* const keys = arena.begin + arena.back;
  piece->sorted = {keys, item.value_bytes == 0 ? nullptr : keys + aligned(items * item.key_bytes),
                   items};
  // Unused memory for records is returned, if nothing lies after it.
  if (format_.shape.by_address) {
    const auto begin = static_cast<std::uint64_t>(piece->records - arena.begin);
    if (arena.front == begin + aligned(geometry_.piece_bytes)) arena.front = begin + aligned(bytes);
  }
  piece->closed = true;
  chunks_[piece->chunk].records += items;
  if (piece->copies == 0) sort_piece(*piece);
}

void ChunkEngine::sort_piece(DevicePiece& piece) {
  EngineLane& lane = *lanes_[piece.device];
  lane.arriving->run(
      "sort piece",
      [this, &piece, &lane](Stream& stream) {
        const std::size_t count = piece.sorted.count;
        if (count == 0) return;
        const ItemShape& item = format_.shape.item;
        Items from = piece.items;
        if (format_.text) {
          from.count = count;
        } else {
          from = lane.arrived.part(item, 0, count);
          stream.load(format_.shape, lane.view, piece.records, from);
        }
        stream.sort(item, from, piece.sorted, lane.arrival_scratch);
        if (format_.shape.by_address) stream.refine(lane.view, piece.sorted, lane.arrival_scratch);
      },
      [this, &piece] { piece_sorted(piece); });
}

void ChunkEngine::piece_sorted(DevicePiece& piece) {
  if (piece.landing != nullptr) lanes_[piece.device]->landing.push_back(piece.landing);
  --chunks_[piece.chunk].unsorted;
  pump();
}

void ChunkEngine::seal() {
  XXL_CHECK(filling_ != nullptr);
  filling_->state = ChunkState::sealed;
  auto leaving = std::make_unique<Leaving>();
  leaving->number = filling_->number;
  leaving->chunk = static_cast<std::size_t>(filling_ - chunks_.data());
  leaving_.push_back(std::move(leaving));
  filling_ = nullptr;
  pump();
}

// --- leaving ---

void ChunkEngine::pump() {
  for (const auto& leaving : leaving_) {
    const ChunkSlot& chunk = chunks_[leaving->chunk];
    if (leaving->state == LeavingState::waiting && chunk.number == leaving->number &&
        chunk.state == ChunkState::sealed && chunk.unsorted == 0) {
      leave(*leaving);
    }
    // A later chunk must not overtake this one, even if its last piece is sorted first, on another
    // device: its slices would take the slots that this one needs. Cuts are made in order, but an
    // exchange takes several rounds.
    if (leaving->state == LeavingState::waiting) break;
    if (strategy_ == MultiGpu::p2p_merge && leaving->state != LeavingState::cut) break;
  }
  for (std::size_t device = 0; device < lanes_.size(); ++device) pump_lane(device);
}

// All pieces of the chunk are sorted.
void ChunkEngine::leave(Leaving& leaving) {
  leaving.state = LeavingState::cutting;
  ChunkSlot& chunk = chunks_[leaving.chunk];
  chunk.state = ChunkState::leaving;
  if (strategy_ == MultiGpu::p2p_merge) {
    exchange(leaving, chunk);
    return;
  }
  std::vector<Items> sequences;
  for (const auto& piece : chunk.pieces) {
    if (piece->sorted.count > 0) sequences.push_back(piece->sorted);
  }
  add_batches(leaving, chunk.records, chunk.devices);
  chunk.ungathered = leaving.batches.size();
  cut(leaving, 0, leaving.batches.size(), chunk.devices.front(), std::move(sequences));
}

// Each device puts out the range of ranks that it holds in the end: as many items as it has now.
void ChunkEngine::exchange(Leaving& leaving, ChunkSlot& chunk) {
  std::vector<ChunkExchange::SortedPiece> pieces;
  for (const auto& piece : chunk.pieces) pieces.push_back({piece->device, piece->sorted});
  auto first = std::make_shared<std::vector<std::size_t>>();  // batch of each device
  leaving.exchange = std::make_unique<ChunkExchange>(
      format_, lanes_, std::move(pieces),
      [this, &leaving, first](std::size_t device, std::vector<Items> sequences) {
        cut(leaving, (*first)[device], (*first)[device + 1], device, std::move(sequences));
      });
  const std::vector<std::uint64_t> items = leaving.exchange->items_of_devices();
  for (const std::size_t device : chunk.devices) {
    first->push_back(leaving.batches.size());
    add_batches(leaving, items[device], {&device, 1});
  }
  first->push_back(leaving.batches.size());
  chunk.ungathered = leaving.batches.size();
  leaving.exchange->start();
}

// Batches of the next `records` ranks of the chunk, for `devices` in turn. Where nothing else
// leaves meanwhile, the first ones are small: so copies out begin earlier.
void ChunkEngine::add_batches(Leaving& leaving, std::uint64_t records,
                              std::span<const std::size_t> devices) const {
  std::uint64_t first = 0;
  if (!leaving.batches.empty()) first = leaving.batches.back().first + leaving.batches.back().count;
  const std::uint64_t end = first + records;
  const std::size_t small_rounds = geometry_.chunks == 1 ? kSmallRounds : 0;
  for (std::size_t b = 0; first < end; ++b) {
    Batch& batch = leaving.batches.emplace_back();
    batch.device = devices[b % devices.size()];
    batch.first = first;
    const std::size_t halvings = small_rounds - std::min(small_rounds, b / devices.size());
    const std::size_t most = std::max<std::size_t>(geometry_.batch_items >> halvings, 1);
    batch.count = static_cast<std::size_t>(std::min<std::uint64_t>(most, end - first));
    first += batch.count;
    ++leaving.uncut;
  }
}

// Cuts `sequences` into the batches [begin, end), which are all of their items, on `device`.
void ChunkEngine::cut(Leaving& leaving, std::size_t begin, std::size_t end, std::size_t device,
                      std::vector<Items> sequences) {
  struct Work {
    std::vector<Items> sequences;
    std::vector<std::uint64_t> ranks;  // ends of all batches but the last
    std::vector<std::uint64_t> cuts;
  };
  if (begin == end) return;
  auto work = std::make_shared<Work>();
  work->sequences = std::move(sequences);
  for (std::size_t b = begin; b + 1 < end; ++b) {
    work->ranks.push_back(leaving.batches[b + 1].first - leaving.batches[begin].first);
  }
  EngineLane& lane = *lanes_[device];
  lane.leaving->run(
      "cut",
      [this, &lane, work](Stream& stream) {
        if (work->ranks.empty()) return;
        if (work->sequences.size() == 1) {
          work->cuts = work->ranks;
          return;
        }
        work->cuts = stream.cut(format_.shape.item, lane.view, format_.shape.by_address,
                                work->sequences, work->ranks);
      },
      [this, &leaving, begin, end, work] {
        const std::size_t count = work->sequences.size();
        std::vector<std::uint64_t> from(count, 0);
        for (std::size_t b = begin; b < end; ++b) {
          Batch& batch = leaving.batches[b];
          for (std::size_t s = 0; s < count; ++s) {
            const Items& sequence = work->sequences[s];
            const std::uint64_t to =
                b + 1 < end ? work->cuts[(b - begin) * count + s] : sequence.count;
            if (to > from[s]) {
              batch.parts.push_back(sequence.part(format_.shape.item, from[s],
                                                  static_cast<std::size_t>(to - from[s])));
            }
            from[s] = to;
          }
          queues_[batch.device].push_back({&leaving, &batch});
        }
        leaving.uncut -= end - begin;
        if (leaving.uncut == 0) leaving.state = LeavingState::cut;
        pump();
      });
}

// Tasks of a lane are done in order: the next batch may begin when all slices of the one before are
// at least waiting to be gathered.
void ChunkEngine::pump_lane(std::size_t device) {
  EngineLane& lane = *lanes_[device];
  auto& queue = queues_[device];
  while (!queue.empty() && !lane.slots.empty()) {
    const auto [leaving, batch] = queue.front();
    if (!batch->begun) sort_batch(lane, *batch);
    if (!batch->sliced) return;
    while (batch->gathering < batch->slices.size() && !lane.slots.empty()) {
      gather(lane, *leaving, *batch);
    }
    if (batch->gathering < batch->slices.size()) return;
    queue.pop_front();
  }
}

void ChunkEngine::sort_batch(EngineLane& lane, Batch& batch) {
  batch.begun = true;
  const ItemShape& item = format_.shape.item;
  const bool is_sorted = batch.parts.size() == 1;
  batch.sorted = is_sorted ? batch.parts.front() : lane.result.part(item, 0, batch.count);
  if (!format_.text) slice_batch(batch);
  lane.leaving->run(
      "sort batch",
      [this, &lane, &batch, is_sorted](Stream& stream) {
        const ItemShape& shape = format_.shape.item;
        if (!is_sorted) {
          const Items from = lane.merged.part(shape, 0, batch.count);
          stream.concatenate(shape, batch.parts, from);
          stream.sort(shape, from, batch.sorted, lane.leaving_scratch);
          if (format_.shape.by_address) {
            stream.refine(lane.view, batch.sorted, lane.leaving_scratch);
          }
        }
        if (format_.text) {
          batch.slices = stream.slice_text(batch.sorted, geometry_.slice_bytes, lane.offsets,
                                           lane.leaving_scratch);
        }
      },
      [this, &batch] {
        if (batch.sliced) return;
        batch.slots.resize(batch.slices.size());
        batch.sliced = true;
        pump();
      });
}

// Of records of a fixed size slices are known beforehand.
void ChunkEngine::slice_batch(Batch& batch) const {
  const std::size_t record_bytes = format_.shape.record_bytes;
  const std::size_t most = geometry_.slice_bytes / record_bytes;
  for (std::size_t first = 0; first < batch.count; first += most) {
    const std::size_t count = std::min(most, batch.count - first);
    batch.slices.push_back({first, count, count * record_bytes});
  }
  batch.slots.resize(batch.slices.size());
  batch.sliced = true;
}

void ChunkEngine::gather(EngineLane& lane, const Leaving& leaving, Batch& batch) {
  const std::size_t slice = batch.gathering++;
  std::byte* const slot = lane.slots.back();
  lane.slots.pop_back();
  lane.leaving->run(
      "gather",
      [this, &lane, &batch, slice, slot](Stream& stream) {
        const GeneralSlice& part = batch.slices[slice];
        if (format_.text) {
          stream.gather_text(batch.sorted, part, lane.offsets, format_.terminator, slot);
        } else {
          stream.store(format_.shape, batch.sorted.part(format_.shape.item, part.first, part.count),
                       slot);
        }
      },
      [this, &leaving, &batch, slice, slot] {
        batch.slots[slice] = slot;
        if (++batch.gathered == batch.slices.size()) batch_gathered(leaving);
        pump();
      });
}

// With the last batch the chunk's memory is free.
void ChunkEngine::batch_gathered(const Leaving& leaving) {
  ChunkSlot& chunk = chunks_[leaving.chunk];
  if (--chunk.ungathered > 0) return;
  for (const std::size_t device : chunk.devices) {
    EngineLane::Arena& arena = lanes_[device]->arenas[arena_of(leaving.chunk)];
    arena.front = 0;
    arena.pieces = 0;
    arena.back = geometry_.arena_bytes;
  }
  chunk.pieces.clear();
  chunk.state = ChunkState::free;
}

bool ChunkEngine::can_give(const Batch& batch) {
  return batch.sliced && batch.given < batch.slices.size() && batch.slots[batch.given] != nullptr;
}

ChunkEngine::DeviceSlice ChunkEngine::give(Leaving& leaving, Batch& batch) {
  const std::size_t index = batch.given++;
  if (batch.given == batch.slices.size()) ++leaving.given;
  const GeneralSlice& part = batch.slices[index];
  return {leaving.number, batch.first + part.first,
          part.count,     static_cast<std::size_t>(part.bytes),
          batch.device,   batch.slots[index]};
}

std::optional<ChunkEngine::DeviceSlice> ChunkEngine::next_slice() {
  if (leaving_.empty()) return std::nullopt;
  Leaving& leaving = *leaving_.front();
  if (leaving.batches.empty() || !can_give(leaving.batches[leaving.next])) return std::nullopt;
  const DeviceSlice slice = give(leaving, leaving.batches[leaving.next]);
  leaving.next = leaving.given;
  if (leaving.given == leaving.batches.size()) leaving_.pop_front();
  return slice;
}

std::optional<ChunkEngine::DeviceSlice> ChunkEngine::any_slice() {
  for (auto it = leaving_.begin(); it != leaving_.end(); ++it) {
    Leaving& leaving = **it;
    for (std::size_t b = leaving.next; b < leaving.batches.size(); ++b) {
      Batch& batch = leaving.batches[b];
      if (b == leaving.next && batch.sliced && batch.given == batch.slices.size()) ++leaving.next;
      if (!can_give(batch)) continue;
      const DeviceSlice slice = give(leaving, batch);
      if (leaving.given == leaving.batches.size()) leaving_.erase(it);
      return slice;
    }
  }
  return std::nullopt;
}

void ChunkEngine::copy_out(const DeviceSlice& slice, std::byte* host, std::function<void()> done) {
  EngineLane& lane = *lanes_[slice.device];
  lane.link.copy_out(host, slice.data, slice.bytes, [this, &lane, slice, done = std::move(done)] {
    lane.slots.push_back(slice.data);
    done();
    pump();
  });
}

bool ChunkEngine::empty() const {
  return filling_ == nullptr && leaving_.empty();
}

ChunkEngine::Busy ChunkEngine::busy(std::size_t device) const {
  const EngineLane& lane = *lanes_[device];
  Busy busy;
  busy.sort_seconds = lane.arriving->busy_seconds() + lane.leaving->busy_seconds();
  busy.in_seconds = lane.link.in_seconds();
  busy.out_seconds = lane.link.out_seconds();
  return busy;
}

}  // namespace xxl::gpu
