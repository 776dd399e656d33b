#include "gpu/sort/chunk_geometry.h"

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace xxl::gpu {
namespace {

constexpr std::size_t kMinPieceBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxPieceBytes = std::size_t{256} << 20;
constexpr std::size_t kMaxPieceItems = std::size_t{64} << 20;
constexpr std::size_t kMaxAddressItems = std::size_t{8} << 20;  // of a piece, refined with scratch
constexpr std::size_t kPiecesOfChunk = 24;
// With so many chunks at a time, one arrives and one leaves while another is sorted.
constexpr unsigned kChunksToHideSorts = 3;
constexpr std::size_t kMostItemsSorted = std::size_t{1} << 30;  // at once
constexpr std::size_t kSmallSliceBytes = std::size_t{16} << 20;
constexpr std::size_t kSmallSlicesOfPiece = 8;
constexpr unsigned kSlots = 3;
constexpr unsigned kSlotsOfSmallSlices = 6;
constexpr std::uint64_t kMostMemoryBytes = std::uint64_t{1} << 44;  // more than any GPU has

// Bytes of a record in an arena.
double arena_bytes_of(const ChunkFormat& format, double item_bytes) {
  return static_cast<double>(format.shape.item.bytes()) +
         (format.shape.by_address ? item_bytes : 0);
}

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

std::size_t ChunkGeometry::landing_bytes(const ChunkFormat& format) const {
  if (format.text) return 2 * aligned(piece_items * sizeof(std::uint64_t));
  return format.shape.by_address ? 0 : aligned(piece_bytes);
}

std::uint64_t ChunkGeometry::arena_piece_bytes(const ChunkFormat& format) const {
  return 4 * kAreaAlignment + piece_items * format.shape.item.bytes() +
         (format.shape.by_address ? piece_bytes : 0);
}

std::size_t ChunkGeometry::scratch_bytes(Device& device, const ChunkFormat& format,
                                         std::size_t items) {
  const std::size_t bytes = device.sort_scratch_bytes(format.shape.item, items);
  if (!format.shape.by_address) return bytes;
  return std::max(bytes, device.refine_scratch_bytes(items));
}

std::uint64_t ChunkGeometry::memory_bytes(Device& device, const ChunkFormat& format) const {
  const ItemShape& item = format.shape.item;
  std::uint64_t bytes = chunks * aligned(arena_bytes);
  bytes += landing_slots * landing_bytes(format);
  bytes += item.area_bytes(piece_items) + 2 * item.area_bytes(batch_items);
  if (format.text) bytes += aligned((batch_items + 1) * sizeof(std::uint64_t));
  bytes += aligned(scratch_bytes(device, format, piece_items));
  bytes += aligned(scratch_bytes(device, format, batch_items));
  bytes += slice_slots * aligned(slice_bytes);
  return bytes + kKeyTableBytes;
}

std::uint64_t ChunkGeometry::capacity(const ChunkFormat& format, double item_bytes) const {
  // A piece begins only where a full one has room.
  const std::uint64_t lost = arena_piece_bytes(format);
  if (arena_bytes <= lost) return 0;
  // Each piece has areas for records, keys and values.
  const double in_arena = arena_bytes_of(format, item_bytes);
  const double full = static_cast<double>(piece_items) * in_arena;
  const double arena = static_cast<double>(arena_bytes - lost) / in_arena * item_bytes * 0.995 *
                       full / (full + 3 * kAreaAlignment);
  const double piece =
      std::min(static_cast<double>(piece_bytes), static_cast<double>(piece_items) * item_bytes);
  return static_cast<std::uint64_t>(std::min(arena, static_cast<double>(device_pieces) * piece));
}

namespace {

// A device's part of a chunk is one piece, which is sorted once.
std::optional<ChunkGeometry> plan_whole(Device& device, std::size_t devices,
                                        const ChunkFormat& format, std::uint64_t memory_bytes,
                                        std::uint64_t most_bytes, unsigned chunks) {
  const std::size_t record_bytes = format.shape.record_bytes;
  if (format.text) return std::nullopt;
  ChunkGeometry geometry;
  geometry.chunks = chunks;
  geometry.landing_slots = 2;  // one is filled while the other is sorted
  geometry.device_pieces = ChunkGeometry::kMaxPieces / devices;
  geometry.piece_items =
      ceil_div<std::uint64_t>(ceil_div<std::uint64_t>(most_bytes, record_bytes), devices);
  if (geometry.piece_items == 0 || geometry.piece_items > kMostItemsSorted) return std::nullopt;
  geometry.piece_bytes = geometry.piece_items * record_bytes;
  geometry.batch_items = ceil_div(geometry.piece_items, kPiecesOfChunk);
  geometry.slice_bytes = aligned(geometry.batch_items * record_bytes);
  // A piece begins only where another would have room, too (capacity()).
  const std::uint64_t piece = geometry.arena_piece_bytes(format);
  geometry.arena_bytes = aligned(2 * piece + piece / 50 + 4 * kAreaAlignment);
  if (geometry.memory_bytes(device, format) > memory_bytes) return std::nullopt;
  return geometry;
}

std::optional<ChunkGeometry> try_plan(Device& device, std::size_t devices,
                                      const ChunkFormat& format, double item_bytes,
                                      std::uint64_t memory_bytes, std::uint64_t most_bytes,
                                      std::size_t slice_bytes, unsigned chunks) {
  ChunkGeometry geometry;
  geometry.chunks = chunks;
  const double record = std::max(item_bytes, 1.0);
  const auto room =
      static_cast<std::uint64_t>(static_cast<double>(memory_bytes / chunks) *
                                 std::min(1.0, record / arena_bytes_of(format, record)));
  const std::uint64_t share = std::min(room, ceil_div<std::uint64_t>(most_bytes, devices));
  geometry.device_pieces = ChunkGeometry::kMaxPieces / devices;
  // Pieces of a good size; larger ones, if there would be too many.
  const auto items_of = [&](std::uint64_t bytes) {
    return static_cast<std::size_t>(static_cast<double>(bytes) / record) + 1;
  };
  if (chunks >= kChunksToHideSorts && slice_bytes == 0) {
    if (const auto whole = plan_whole(device, devices, format, memory_bytes, most_bytes, chunks)) {
      return whole;
    }
  }
  const std::size_t least_bytes = share / geometry.device_pieces * 5 / 4;
  std::size_t bytes =
      std::clamp<std::size_t>(share / kPiecesOfChunk, kMinPieceBytes, kMaxPieceBytes);
  for (bytes = std::max(bytes, least_bytes); bytes >= kSectorBytes; bytes /= 2) {
    geometry.piece_items = std::min(
        items_of(bytes), std::max(items_of(least_bytes),
                                  format.shape.by_address ? kMaxAddressItems : kMaxPieceItems));
    geometry.piece_bytes = format.text ? bytes : geometry.piece_items * format.shape.record_bytes;
    geometry.batch_items = geometry.piece_items;
    geometry.slice_bytes = slice_bytes != 0 ? slice_bytes : aligned(geometry.piece_bytes);
    // The copy of a small slice takes no longer than what comes before and after it.
    const bool small = geometry.slice_bytes <= kSmallSliceBytes &&
                       kSmallSlicesOfPiece * geometry.slice_bytes < geometry.piece_bytes;
    geometry.slice_slots = small ? kSlotsOfSmallSlices : kSlots;
    geometry.arena_bytes = 0;
    const std::uint64_t others = geometry.memory_bytes(device, format);
    if (others >= memory_bytes) continue;
    const std::uint64_t arena = (memory_bytes - others) / chunks / kAreaAlignment * kAreaAlignment;
    const std::uint64_t piece = geometry.arena_piece_bytes(format);
    if (arena < 4 * piece) continue;  // the pieces are too large a part of it
    const double need = static_cast<double>(share) / record * arena_bytes_of(format, record) * 1.01;
    geometry.arena_bytes = std::min<std::uint64_t>(
        arena, aligned(static_cast<std::size_t>(need)) + 3 * aligned(piece));
    return geometry;
  }
  return std::nullopt;
}

}  // namespace

ChunkGeometry ChunkGeometry::plan(Device& device, std::size_t devices, const ChunkFormat& format,
                                  double item_bytes, std::uint64_t memory_bytes,
                                  std::uint64_t most_bytes, std::size_t slice_bytes,
                                  unsigned chunks) {
  const auto planned = [&](std::uint64_t memory) {
    return try_plan(device, devices, format, item_bytes, memory, most_bytes, slice_bytes, chunks);
  };
  if (const auto geometry = planned(memory_bytes)) return *geometry;
  std::uint64_t enough = round_up<std::uint64_t>(memory_bytes + 1, kMiB);
  while (enough < kMostMemoryBytes && !planned(enough)) {
    enough = round_up<std::uint64_t>(enough + enough / 8 + 1, kMiB);
  }
  std::string message = "the memory of the GPU is too small: " + format_bytes(memory_bytes) +
                        " are free, or allowed by --gpu-memory, and ";
  if (enough < kMostMemoryBytes) {
    message += "at least " + std::to_string(enough / kMiB) + "M are needed";
  } else {
    message += "no GPU has enough for such records";
  }
  throw Error(ErrorCode::no_space, message);
}

}  // namespace xxl::gpu
