// What was written to a file, as hashes of its pieces: to compare it with what is read back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "base/units.h"

namespace xxl::io {

class WriteLog {
 public:
  // No piece lies across a multiple of it.
  static constexpr std::size_t kPieceBytes = kMiB;

  struct LoggedWrite {
    std::uint64_t offset;  // in the file, in bytes
    std::uint64_t checksum;
    std::uint32_t bytes;
  };

  // `data` is being written to `offset`. Writes may come in any order, each byte once. From any
  // thread.
  void add(std::uint64_t offset, std::span<const std::byte> data);

  // In the order of the file. After the last add().
  const std::vector<LoggedWrite>& pieces();

 private:
  std::mutex mutex_;
  std::vector<LoggedWrite> pieces_;
};

}  // namespace xxl::io
