#include "io/write_log.h"

#include <algorithm>

#include "base/checksum.h"

namespace xxl::io {

void WriteLog::add(std::uint64_t offset, std::span<const std::byte> data) {
  while (!data.empty()) {
    const auto bytes = static_cast<std::size_t>(
        std::min<std::uint64_t>(data.size(), kPieceBytes - offset % kPieceBytes));
    const LoggedWrite piece{offset, block_checksum(data.first(bytes)),
                            static_cast<std::uint32_t>(bytes)};
    {
      std::lock_guard lock(mutex_);
      pieces_.push_back(piece);
    }
    offset += bytes;
    data = data.subspan(bytes);
  }
}

const std::vector<WriteLog::LoggedWrite>& WriteLog::pieces() {
  std::ranges::sort(pieces_, {}, &LoggedWrite::offset);
  return pieces_;
}

}  // namespace xxl::io
