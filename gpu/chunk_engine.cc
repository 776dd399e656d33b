#include "gpu/chunk_engine.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/units.h"

namespace xxl::gpu {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kCopyThreads = 2;  // of each direction: one copies while the other hears of it
constexpr std::size_t kMinPieceBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxPieceBytes = std::size_t{256} << 20;
constexpr std::size_t kMaxPieceItems = std::size_t{64} << 20;
constexpr std::size_t kMaxAddressItems = std::size_t{8} << 20;  // of a piece, refined with scratch
constexpr std::size_t kPiecesOfChunk = 24;
constexpr std::size_t kMaxSequences = 1024;
constexpr std::size_t kKeyTableBytes = std::size_t{1} << 20;

std::size_t aligned(std::size_t bytes) { return round_up(bytes, kAlignment); }

}  // namespace

ChunkFormat ChunkFormat::of(const KeyLayout& layout) {
  ChunkFormat format;
  format.layout = &layout;
  RecordShape& shape = format.shape;
  shape.record_bytes = layout.record_bytes();
  shape.transform = layout.transform();
  switch (layout.kind()) {
    case RecordKind::key32:
      shape.item = {4, 0};
      break;
    case RecordKind::key64:
      shape.item = {8, 0};
      break;
    case RecordKind::pair32:
      shape.item = {4, 4};
      break;
    case RecordKind::pair64:
      shape.item = {8, 8};
      break;
    case RecordKind::generic:
      shape.item = {8, 8};
      shape.by_address = true;
      break;
  }
  return format;
}

ChunkFormat ChunkFormat::of_text(bool descending, char terminator) {
  ChunkFormat format;
  format.shape.item = {8, 8};
  format.shape.by_address = true;
  format.text = true;
  format.descending = descending;
  format.terminator = terminator;
  return format;
}

// --- geometry ---

namespace {

std::size_t landing_bytes(const ChunkFormat& format, const ChunkGeometry& geometry) {
  if (format.text) return 2 * aligned(geometry.piece_items * sizeof(std::uint64_t));
  return format.shape.by_address ? 0 : aligned(geometry.piece_bytes);
}

std::size_t scratch_bytes(Device& device, const ChunkFormat& format, std::size_t items) {
  const std::size_t bytes = device.sort_scratch_bytes(format.shape.item, items);
  if (!format.shape.by_address) return bytes;
  return std::max(bytes, device.refine_scratch_bytes(items));
}

// What a record takes in an arena.
double arena_bytes_of(const ChunkFormat& format, double item_bytes) {
  return static_cast<double>(format.shape.item.bytes()) +
         (format.shape.by_address ? item_bytes : 0);
}

std::uint64_t arena_piece_bytes(const ChunkFormat& format, const ChunkGeometry& geometry) {
  return 4 * kAlignment + geometry.piece_items * format.shape.item.bytes() +
         (format.shape.by_address ? geometry.piece_bytes : 0);
}

}  // namespace

std::uint64_t ChunkGeometry::memory_bytes(Device& device, const ChunkFormat& format) const {
  const ItemShape& item = format.shape.item;
  const auto items_bytes = [&](std::size_t items) {
    return aligned(items * item.key_bytes) + aligned(items * item.value_bytes);
  };
  std::uint64_t bytes = chunks * aligned(arena_bytes);
  bytes += landing_slots * landing_bytes(format, *this);
  bytes += items_bytes(piece_items) + 2 * items_bytes(batch_items);
  if (format.text) bytes += aligned((batch_items + 1) * sizeof(std::uint64_t));
  bytes += aligned(scratch_bytes(device, format, piece_items));
  bytes += aligned(scratch_bytes(device, format, batch_items));
  bytes += slice_slots * aligned(slice_bytes);
  return bytes + kKeyTableBytes;
}

std::uint64_t ChunkGeometry::capacity(const ChunkFormat& format, double item_bytes) const {
  // A piece begins only where a full one has room.
  const std::uint64_t lost = arena_piece_bytes(format, *this);
  if (arena_bytes <= lost) return 0;
  return static_cast<std::uint64_t>(static_cast<double>(arena_bytes - lost) /
                                    arena_bytes_of(format, item_bytes) * item_bytes * 0.995);
}

ChunkGeometry ChunkGeometry::plan(Device& device, std::size_t devices, const ChunkFormat& format,
                                  double item_bytes, std::uint64_t memory_bytes,
                                  std::uint64_t most_bytes, std::size_t slice_bytes,
                                  unsigned chunks) {
  ChunkGeometry geometry;
  geometry.chunks = chunks;
  const ItemShape& item = format.shape.item;
  const double record = std::max(item_bytes, 1.0);
  const std::uint64_t share = std::min<std::uint64_t>(memory_bytes / chunks,
                                                      ceil_div<std::uint64_t>(most_bytes, devices));
  std::size_t bytes = std::clamp<std::size_t>(share / kPiecesOfChunk, kMinPieceBytes,
                                              kMaxPieceBytes);
  bytes = std::max<std::size_t>(bytes, share * devices / kMaxSequences * 5 / 4);
  for (; bytes >= kSectorBytes; bytes /= 2) {
    geometry.piece_items = static_cast<std::size_t>(static_cast<double>(bytes) / record) + 1;
    geometry.piece_items = std::min(
        geometry.piece_items, format.shape.by_address ? kMaxAddressItems : kMaxPieceItems);
    geometry.piece_bytes =
        format.text ? bytes : geometry.piece_items * format.shape.record_bytes;
    geometry.batch_items = geometry.piece_items;
    geometry.slice_bytes = slice_bytes != 0 ? slice_bytes : aligned(geometry.piece_bytes);
    geometry.arena_bytes = 0;
    const std::uint64_t others = geometry.memory_bytes(device, format);
    if (others >= memory_bytes) continue;
    const std::uint64_t arena = (memory_bytes - others) / chunks / kAlignment * kAlignment;
    const std::uint64_t piece = arena_piece_bytes(format, geometry);
    if (arena < 4 * piece) continue;  // the pieces are too large a part of it
    const double need = static_cast<double>(share) / record * arena_bytes_of(format, record) * 1.01;
    geometry.arena_bytes = std::min<std::uint64_t>(
        arena, aligned(static_cast<std::size_t>(need)) + 3 * aligned(piece));
    XXL_CHECK(item.bytes() > 0);
    return geometry;
  }
  throw Error(ErrorCode::no_space, "the memory of the GPU is too small: " +
                                       format_bytes(memory_bytes) + " are free or allowed");
}

// --- lanes ---

// What the engine has of a device.
struct ChunkEngine::Lane {
  // A chunk's memory: records from the front, sorted items from the back.
  struct Arena {
    std::byte* begin = nullptr;
    std::uint64_t front = 0;
    std::uint64_t back = 0;
    std::uint64_t promised = 0;  // to items of pieces that are not complete

    std::uint64_t room() const { return back - front - promised; }
  };

  Device& device;
  DeviceMemory memory;
  std::vector<Arena> arenas;
  std::vector<std::byte*> landing;  // free slots
  std::vector<std::byte*> slots;    // free ones for slices
  Items arrived;                    // of a piece that is to be sorted
  Items merged;                     // of a batch that is to be sorted
  Items result;                     // of a batch
  std::uint64_t* offsets = nullptr;
  std::span<std::byte> arrival_scratch;
  std::span<std::byte> leaving_scratch;
  KeyView view;
  std::deque<std::pair<const Leaving*, Batch*>> batches;  // to be sorted and gathered
  std::size_t next_in = 0;
  std::size_t next_out = 0;
  // Last: they end before the memory goes.
  std::array<std::unique_ptr<StreamThread>, kCopyThreads> in;
  std::array<std::unique_ptr<StreamThread>, kCopyThreads> out;
  std::unique_ptr<StreamThread> arriving;  // sorts pieces
  std::unique_ptr<StreamThread> leaving;   // cuts, sorts batches, and gathers

  // Waits for the tasks that are running; no others will be run.
  void stop() {
    for (auto& thread : in) thread.reset();
    for (auto& thread : out) thread.reset();
    arriving.reset();
    leaving.reset();
  }

  Lane(Device& d, std::size_t index, const ChunkFormat& format, const ChunkGeometry& geometry,
       Mailbox& mailbox, TimeLine* time_line)
      : device(d), memory(d, geometry.memory_bytes(d, format)) {
    std::byte* at = memory.data();
    const auto take = [&](std::size_t bytes) {
      std::byte* const taken = at;
      at += aligned(bytes);
      return taken;
    };
    const ItemShape& item = format.shape.item;
    for (unsigned i = 0; i < geometry.chunks; ++i) {
      arenas.push_back({take(geometry.arena_bytes), 0, geometry.arena_bytes, 0});
    }
    const std::size_t landing_size = landing_bytes(format, geometry);
    for (unsigned i = 0; i < geometry.landing_slots; ++i) landing.push_back(take(landing_size));
    const auto take_items = [&](std::size_t count) {
      std::byte* const keys = take(count * item.key_bytes);
      return Items{keys, item.value_bytes == 0 ? nullptr : take(count * item.value_bytes), count};
    };
    arrived = take_items(geometry.piece_items);
    merged = take_items(geometry.batch_items);
    result = take_items(geometry.batch_items);
    if (format.text) {
      offsets = reinterpret_cast<std::uint64_t*>(
          take((geometry.batch_items + 1) * sizeof(std::uint64_t)));
    }
    for (unsigned i = 0; i < geometry.slice_slots; ++i) slots.push_back(take(geometry.slice_bytes));
    for (auto [scratch, items] : {std::pair(&arrival_scratch, geometry.piece_items),
                                  std::pair(&leaving_scratch, geometry.batch_items)}) {
      const std::size_t bytes = scratch_bytes(device, format, items);
      *scratch = {take(bytes), bytes};
    }
    auto stream = device.make_stream();
    make_view(format, take(kKeyTableBytes), *stream);
    XXL_CHECK(at <= memory.data() + memory.size());
    const std::string name = "GPU " + std::to_string(index);
    arriving = std::make_unique<StreamThread>(std::move(stream), mailbox, name + " sort in",
                                              time_line);
    leaving = std::make_unique<StreamThread>(device.make_stream(), mailbox, name + " sort out",
                                             time_line);
    for (std::size_t i = 0; i < kCopyThreads; ++i) {
      in[i] = std::make_unique<StreamThread>(device.make_stream(), mailbox, name + " copy in",
                                             time_line);
      out[i] = std::make_unique<StreamThread>(device.make_stream(), mailbox, name + " copy out",
                                              time_line);
    }
  }

  void make_view(const ChunkFormat& format, std::byte* table, Stream& stream) {
    view.text = format.text;
    view.descending = format.descending;
    if (format.text || format.layout == nullptr) return;
    std::vector<KeyLayout::Segment> segments;
    std::vector<std::uint32_t> first;
    for (std::size_t word = 0; word < format.layout->words(); ++word) {
      first.push_back(static_cast<std::uint32_t>(segments.size()));
      const auto& parts = format.layout->segments(word);
      segments.insert(segments.end(), parts.begin(), parts.end());
    }
    first.push_back(static_cast<std::uint32_t>(segments.size()));
    const std::size_t first_bytes = aligned(first.size() * sizeof first[0]);
    const std::size_t bytes = first_bytes + segments.size() * sizeof segments[0];
    if (bytes > kKeyTableBytes) throw Error(ErrorCode::no_space, "the key is too long for a GPU");
    stream.copy_in(table, reinterpret_cast<const std::byte*>(first.data()),
                   first.size() * sizeof first[0]);
    stream.copy_in(table + first_bytes, reinterpret_cast<const std::byte*>(segments.data()),
                   segments.size() * sizeof segments[0]);
    view.words = static_cast<std::uint32_t>(format.layout->words());
    view.first_segment = reinterpret_cast<const std::uint32_t*>(table);
    view.segments = reinterpret_cast<const KeyLayout::Segment*>(table + first_bytes);
  }
};

// --- arriving ---

ChunkEngine::ChunkEngine(std::vector<Device*> devices, const ChunkFormat& format,
                         const ChunkGeometry& geometry, MultiGpu strategy, Mailbox& mailbox,
                         TimeLine* time_line)
    : devices_(std::move(devices)), format_(format), geometry_(geometry), strategy_(strategy) {
  XXL_CHECK(strategy != MultiGpu::automatic && !devices_.empty());
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    lanes_.push_back(
        std::make_unique<Lane>(*devices_[i], i, format_, geometry_, mailbox, time_line));
  }
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

// What the threads of one device are at may read the memory of all others.
ChunkEngine::~ChunkEngine() {
  for (const auto& lane : lanes_) lane->stop();
}

std::size_t ChunkEngine::arena_of(std::size_t chunk) const {
  return strategy_ == MultiGpu::independent ? chunk / devices_.size() : chunk;
}

ChunkEngine::Chunk* ChunkEngine::chunk_to_fill() {
  if (filling_ == nullptr) {
    Chunk& next = chunks_[chunk_numbers_ % chunks_.size()];
    if (next.state != ChunkState::free) return nullptr;
    next.state = ChunkState::filling;
    next.number = chunk_numbers_++;
    next.records = 0;
    filling_ = &next;
  }
  return filling_;
}

bool ChunkEngine::has_room(const Chunk& chunk, std::size_t device) const {
  const auto slot = static_cast<std::size_t>(&chunk - chunks_.data());
  return lanes_[device]->arenas[arena_of(slot)].room() >= arena_piece_bytes(format_, geometry_);
}

bool ChunkEngine::chunk_is_full() const {
  return filling_ != nullptr &&
         std::none_of(filling_->devices.begin(), filling_->devices.end(),
                      [this](std::size_t device) { return has_room(*filling_, device); });
}

ChunkEngine::Piece* ChunkEngine::open_piece() {
  Chunk* const chunk = chunk_to_fill();
  if (chunk == nullptr) return nullptr;
  const auto slot = static_cast<std::size_t>(chunk - chunks_.data());
  const bool lands = landing_bytes(format_, geometry_) > 0;
  for (std::size_t i = 0; i < chunk->devices.size(); ++i) {
    const std::size_t device = chunk->devices[(piece_numbers_ + i) % chunk->devices.size()];
    if (!has_room(*chunk, device)) continue;
    Lane& lane = *lanes_[device];
    if (lands && lane.landing.empty()) return nullptr;
    auto piece = std::make_unique<Piece>();
    piece->device = device;
    piece->number = piece_numbers_++;
    piece->chunk = slot;
    if (lands) {
      piece->landing = lane.landing.back();
      lane.landing.pop_back();
    }
    Lane::Arena& arena = lane.arenas[arena_of(slot)];
    arena.promised += 2 * kAlignment + geometry_.piece_items * format_.shape.item.bytes();
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

void ChunkEngine::copy_in(Piece& piece, std::byte* device, const std::byte* host,
                          std::size_t bytes, std::function<void()> done) {
  Lane& lane = *lanes_[piece.device];
  ++piece.copies;
  lane.in[lane.next_in++ % kCopyThreads]->run(
      "copy in", [=](Stream& stream) { stream.copy_in(device, host, bytes); },
      [this, &piece, done = std::move(done)] {
        done();
        copy_ended(piece);
      });
}

void ChunkEngine::copy_ended(Piece& piece) {
  --piece.copies;
  if (piece.closed && piece.copies == 0) sort_piece(piece);
}

void ChunkEngine::close_piece(Piece* piece, std::size_t items, std::size_t bytes) {
  XXL_CHECK(items <= geometry_.piece_items && bytes <= geometry_.piece_bytes && !piece->closed);
  Lane::Arena& arena = lanes_[piece->device]->arenas[arena_of(piece->chunk)];
  const ItemShape& item = format_.shape.item;
  arena.promised -= 2 * kAlignment + geometry_.piece_items * item.bytes();
  arena.back -= aligned(items * item.key_bytes) + aligned(items * item.value_bytes);
  std::byte* const keys = arena.begin + arena.back;
  piece->sorted = {keys, item.value_bytes == 0 ? nullptr : keys + aligned(items * item.key_bytes),
                   items};
  // What it did not need of the records' memory goes back, if nothing lies behind it.
  if (format_.shape.by_address) {
    const auto begin = static_cast<std::uint64_t>(piece->records - arena.begin);
    if (arena.front == begin + aligned(geometry_.piece_bytes)) arena.front = begin + aligned(bytes);
  }
  piece->bytes = bytes;
  piece->closed = true;
  chunks_[piece->chunk].records += items;
  if (piece->copies == 0) sort_piece(*piece);
}

void ChunkEngine::sort_piece(Piece& piece) {
  Lane& lane = *lanes_[piece.device];
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

void ChunkEngine::piece_sorted(Piece& piece) {
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
    Chunk& chunk = chunks_[leaving->chunk];
    if (!leaving->cut && chunk.number == leaving->number && chunk.state == ChunkState::sealed &&
        chunk.unsorted == 0) {
      cut(*leaving);
    }
  }
  for (std::size_t device = 0; device < lanes_.size(); ++device) pump_lane(device);
}

// Cuts the chunk into batches.
void ChunkEngine::cut(Leaving& leaving) {
  leaving.cut = true;
  Chunk& chunk = chunks_[leaving.chunk];
  chunk.state = ChunkState::leaving;
  auto sequences = std::make_shared<std::vector<Items>>();
  for (const auto& piece : chunk.pieces) {
    if (piece->sorted.count > 0) sequences->push_back(piece->sorted);
  }
  auto ranks = std::make_shared<std::vector<std::uint64_t>>();
  for (std::uint64_t rank = geometry_.batch_items; rank < chunk.records;
       rank += geometry_.batch_items) {
    ranks->push_back(rank);
  }
  auto cuts = std::make_shared<std::vector<std::uint64_t>>();
  lanes_[chunk.devices.front()]->leaving->run(
      "cut",
      [this, sequences, ranks, cuts, view = lanes_[chunk.devices.front()]->view](Stream& stream) {
        if (ranks->empty()) return;
        if (sequences->size() == 1) {
          *cuts = *ranks;
          return;
        }
        *cuts = stream.cut(format_.shape.item, view, format_.shape.by_address, *sequences, *ranks);
      },
      [this, &leaving, &chunk, sequences, ranks, cuts] {
        std::vector<std::uint64_t> from(sequences->size(), 0);
        std::uint64_t first = 0;
        for (std::size_t b = 0; first < chunk.records; ++b) {
          const std::uint64_t end = b < ranks->size() ? (*ranks)[b] : chunk.records;
          Batch batch;
          batch.device = chunk.devices[b % chunk.devices.size()];
          batch.first = first;
          batch.count = static_cast<std::size_t>(end - first);
          for (std::size_t s = 0; s < sequences->size(); ++s) {
            const std::uint64_t to = b < ranks->size() ? (*cuts)[b * sequences->size() + s]
                                                       : (*sequences)[s].count;
            if (to > from[s]) {
              batch.parts.push_back((*sequences)[s].part(format_.shape.item, from[s],
                                                         static_cast<std::size_t>(to - from[s])));
            }
            from[s] = to;
          }
          leaving.batches.push_back(std::move(batch));
          first = end;
        }
        chunk.ungathered = leaving.batches.size();
        for (Batch& batch : leaving.batches) {
          lanes_[batch.device]->batches.push_back({&leaving, &batch});
        }
        pump();
      });
}

// Tasks of a lane are done in order: the next batch may be begun when all slices of the one before
// are at least waiting to be gathered.
void ChunkEngine::pump_lane(std::size_t device) {
  Lane& lane = *lanes_[device];
  while (!lane.batches.empty() && !lane.slots.empty()) {
    const auto [leaving, batch] = lane.batches.front();
    if (!batch->begun) sort_batch(lane, *batch);
    if (!batch->sliced) return;
    while (batch->gathering < batch->slices.size() && !lane.slots.empty()) {
      gather(lane, *leaving, *batch);
    }
    if (batch->gathering < batch->slices.size()) return;
    lane.batches.pop_front();
  }
}

void ChunkEngine::sort_batch(Lane& lane, Batch& batch) {
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

void ChunkEngine::gather(Lane& lane, const Leaving& leaving, Batch& batch) {
  const std::size_t slice = batch.gathering++;
  std::byte* const slot = lane.slots.back();
  lane.slots.pop_back();
  lane.leaving->run(
      "gather",
      [this, &lane, &batch, slice, slot](Stream& stream) {
        const TextSlice& part = batch.slices[slice];
        if (format_.text) {
          stream.gather_text(batch.sorted, part, lane.offsets, format_.terminator, slot);
        } else {
          stream.store(format_.shape,
                       batch.sorted.part(format_.shape.item, part.first, part.count), slot);
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
  Chunk& chunk = chunks_[leaving.chunk];
  if (--chunk.ungathered > 0) return;
  for (const std::size_t device : chunk.devices) {
    Lane::Arena& arena = lanes_[device]->arenas[arena_of(leaving.chunk)];
    arena.front = 0;
    arena.back = geometry_.arena_bytes;
  }
  chunk.pieces.clear();
  chunk.state = ChunkState::free;
}

bool ChunkEngine::can_give(const Batch& batch) {
  return batch.sliced && batch.given < batch.slices.size() && batch.slots[batch.given] != nullptr;
}

ChunkEngine::Slice ChunkEngine::give(Leaving& leaving, Batch& batch) {
  const std::size_t index = batch.given++;
  if (batch.given == batch.slices.size()) ++leaving.given;
  const TextSlice& part = batch.slices[index];
  return {leaving.number,
          batch.first + part.first,
          part.count,
          static_cast<std::size_t>(part.bytes),
          batch.device,
          batch.slots[index]};
}

std::optional<ChunkEngine::Slice> ChunkEngine::next_slice() {
  if (leaving_.empty()) return std::nullopt;
  Leaving& leaving = *leaving_.front();
  if (leaving.batches.empty() || !can_give(leaving.batches[leaving.next])) return std::nullopt;
  const Slice slice = give(leaving, leaving.batches[leaving.next]);
  leaving.next = leaving.given;
  if (leaving.given == leaving.batches.size()) leaving_.pop_front();
  return slice;
}

std::optional<ChunkEngine::Slice> ChunkEngine::any_slice() {
  for (auto it = leaving_.begin(); it != leaving_.end(); ++it) {
    Leaving& leaving = **it;
    for (std::size_t b = leaving.next; b < leaving.batches.size(); ++b) {
      Batch& batch = leaving.batches[b];
      if (b == leaving.next && batch.sliced && batch.given == batch.slices.size()) ++leaving.next;
      if (!can_give(batch)) continue;
      const Slice slice = give(leaving, batch);
      if (leaving.given == leaving.batches.size()) leaving_.erase(it);
      return slice;
    }
  }
  return std::nullopt;
}

void ChunkEngine::copy_out(const Slice& slice, std::byte* host, std::function<void()> done) {
  Lane& lane = *lanes_[slice.device];
  lane.out[lane.next_out++ % kCopyThreads]->run(
      "copy out",
      [slice, host](Stream& stream) { stream.copy_out(host, slice.data, slice.bytes); },
      [this, &lane, slice, done = std::move(done)] {
        lane.slots.push_back(slice.data);
        done();
        pump();
      });
}

bool ChunkEngine::empty() const {
  return filling_ == nullptr && leaving_.empty();
}

ChunkEngine::Busy ChunkEngine::busy(std::size_t device) const {
  const Lane& lane = *lanes_[device];
  Busy busy;
  busy.sort_seconds = lane.arriving->busy_seconds() + lane.leaving->busy_seconds();
  for (const auto& thread : lane.in) busy.in_seconds += thread->busy_seconds();
  for (const auto& thread : lane.out) busy.out_seconds += thread->busy_seconds();
  return busy;
}

}  // namespace xxl::gpu
