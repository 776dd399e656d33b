#include "io/write_comparison.h"

#include <algorithm>
#include <cstring>

#include "base/checksum.h"
#include "base/units.h"

namespace xxl::io {
namespace {

[[noreturn]] void throw_not_as_written(const File& file, std::uint64_t offset) {
  throw Error(ErrorCode::corrupt,
              "what is read back from here on is not what was written: check this machine's "
              "memory and disks, or write to another disk",
              file.path(), offset);
}

}  // namespace

void WriteComparison::add(std::span<std::byte> data) {
  const std::size_t padded = round_up(data.size(), kSectorBytes);
  std::memset(data.data() + data.size(), 0, padded - data.size());
  for (std::size_t at = 0; at < data.size(); at += next_++->bytes) {
    if (next_ == end_ || next_->offset != offset_ + at) throw_not_as_written(file_, offset_ + at);
    if (next_->bytes > padded - at) throw_not_as_written(file_, offset_ + at);
    const std::span<const std::byte> piece(data.data() + at, next_->bytes);
    if (block_checksum(piece) != next_->checksum) throw_not_as_written(file_, offset_ + at);
  }
  offset_ += data.size();
}

void WriteComparison::finish() const {
  if (next_ != end_) throw_not_as_written(file_, offset_);
}

std::vector<std::byte> read_compared(const File& file, std::uint64_t offset, std::size_t bytes) {
  if (file.write_log() == nullptr) return read_bytes(file, offset, bytes);
  const auto& pieces = file.write_log()->pieces();
  auto piece = std::ranges::upper_bound(pieces, offset, {}, &WriteLog::LoggedWrite::offset);
  if (piece == pieces.begin()) throw_not_as_written(file, offset);
  const std::uint64_t begin = (--piece)->offset;
  std::vector<std::byte> read;
  for (; begin + read.size() < offset + bytes; ++piece) {
    if (piece == pieces.end() || piece->offset != begin + read.size()) {
      throw_not_as_written(file, begin + read.size());
    }
    const std::vector<std::byte> data = read_bytes(file, piece->offset, piece->bytes);
    if (block_checksum(data) != piece->checksum) throw_not_as_written(file, piece->offset);
    read.insert(read.end(), data.begin(), data.end());
  }
  const auto from = read.begin() + static_cast<std::ptrdiff_t>(offset - begin);
  return {from, from + static_cast<std::ptrdiff_t>(bytes)};
}

}  // namespace xxl::io
