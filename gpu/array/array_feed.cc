#include "gpu/array/array_feed.h"

#include <algorithm>

#include "base/error.h"

namespace xxl::gpu {
namespace {

// Copied at once: of large pieces, so that the first of two arrives first.
constexpr std::size_t kCopyBytes = std::size_t{256} << 20;

}  // namespace

void ArrayFeed::pump() {
  while (!left_.empty()) {
    ChunkEngine::DevicePiece* const piece = engine_.open_piece();
    if (piece == nullptr) {
      XXL_CHECK(!engine_.chunk_is_full());
      return;
    }
    const std::size_t bytes = std::min(piece_bytes_, left_.size());
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
