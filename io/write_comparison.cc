#include "io/write_comparison.h"

#include <cstring>

#include "base/checksum.h"
#include "base/error.h"
#include "base/units.h"

namespace xxl::io {

void WriteComparison::add(std::span<std::byte> data) {
  const std::size_t padded = round_up(data.size(), kSectorBytes);
  std::memset(data.data() + data.size(), 0, padded - data.size());
  for (std::size_t at = 0; at < data.size(); at += next_++->bytes) {
    if (next_ == end_ || next_->offset != offset_ + at) fail(offset_ + at);
    if (next_->bytes > padded - at) fail(offset_ + at);
    const std::span<const std::byte> piece(data.data() + at, next_->bytes);
    if (block_checksum(piece) != next_->checksum) fail(offset_ + at);
  }
  offset_ += data.size();
}

void WriteComparison::finish() const {
  if (next_ != end_) fail(offset_);
}

void WriteComparison::fail(std::uint64_t offset) const {
  throw Error(ErrorCode::corrupt,
              "what is read back from here on is not what was written: check this machine's "
              "memory and disks, or write to another disk",
              file_.path(), offset);
}

}  // namespace xxl::io
