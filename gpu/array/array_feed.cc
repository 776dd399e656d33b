#include "gpu/array/array_feed.h"

#include <algorithm>

#include "base/error.h"

namespace xxl::gpu {
namespace {

// Copied at once: of large pieces, so that the first of two arrives first.
constexpr std::size_t kCopyBytes = std::size_t{256} << 20;
constexpr std::size_t kSmallestPart = 16;     // of a piece, that is still worth sorting alone
constexpr std::size_t kMoreSmallPieces = 16;  // of a device

// Where nothing leaves while the last pieces are sorted, they are to be small. Devices then get
// unequal parts, by up to a piece, and some more pieces.
std::size_t most_with_small_pieces(std::size_t devices, const ChunkGeometry& geometry,
                                   const ChunkFormat& format) {
  const std::size_t record_bytes = format.shape.record_bytes;
  const std::size_t piece_bytes = geometry.piece_items * record_bytes;
  if (geometry.chunks > 1 || geometry.device_pieces <= kMoreSmallPieces) return 0;
  const std::size_t most =
      std::min<std::uint64_t>(geometry.capacity(format, static_cast<double>(record_bytes)),
                              (geometry.device_pieces - kMoreSmallPieces) * piece_bytes);
  return most > piece_bytes ? devices * (most - piece_bytes) : 0;
}

}  // namespace

ArrayFeed::ArrayFeed(ChunkEngine& engine, const ChunkGeometry& geometry, const ChunkFormat& format)
    : engine_(engine),
      piece_bytes_(geometry.piece_items * format.shape.record_bytes),
      record_bytes_(format.shape.record_bytes),
      tapered_bytes_(most_with_small_pieces(engine.devices(), geometry, format)) {}

void ArrayFeed::begin(std::span<const std::byte> records) {
  left_ = records;
  tapers_ = records.size() <= tapered_bytes_;
}

// Its bytes. The last pieces of each device are halves of what is left.
std::size_t ArrayFeed::next_piece() const {
  std::size_t most = piece_bytes_;
  if (tapers_) {
    most = std::clamp(left_.size() / (2 * engine_.devices()), piece_bytes_ / kSmallestPart, most);
    most = std::max(most / record_bytes_, std::size_t{1}) * record_bytes_;
  }
  return std::min(most, left_.size());
}

void ArrayFeed::pump() {
  while (!left_.empty()) {
    ChunkEngine::DevicePiece* const piece = engine_.open_piece();
    if (piece == nullptr) {
      XXL_CHECK(!engine_.chunk_is_full());
      return;
    }
    const std::size_t bytes = next_piece();
    for (std::size_t done = 0; done < bytes; done += kCopyBytes) {
      ++copies_;
      engine_.copy_in(*piece, piece->records + done, left_.data() + done,
                      std::min(kCopyBytes, bytes - done), [this] { --copies_; });
    }
    engine_.close_piece(piece, bytes / record_bytes_, bytes);
    left_ = left_.subspan(bytes);
    if (left_.empty()) engine_.seal();
  }
}

}  // namespace xxl::gpu
