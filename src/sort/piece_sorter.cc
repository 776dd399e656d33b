#include "sort/piece_sorter.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace xxl {

UnsortedPiece::UnsortedPiece(std::vector<Segment> segments, std::size_t record_bytes)
    : segments_(std::move(segments)), record_bytes_(record_bytes) {
  for (const Segment& segment : segments_) records_ += segment.count;
}

void UnsortedPiece::write(std::size_t first, std::size_t count, std::byte* out) const {
  for (const Segment& segment : segments_) {
    if (first >= segment.count) {
      first -= segment.count;
      continue;
    }
    if (count == 0) return;
    const std::size_t part = std::min(count, segment.count - first);
    std::memcpy(out, segment.records + first * record_bytes_, part * record_bytes_);
    out += part * record_bytes_;
    count -= part;
    first = 0;
  }
}

}  // namespace xxl
