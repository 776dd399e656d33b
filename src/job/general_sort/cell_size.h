// How large the cells of a merge of text should be.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"
#include "job/general_sort/general_memory.h"

namespace xxl {

// In bytes: for `records` of `record_bytes` altogether, such that a cell's records fit
// in the items of a worker, and each worker gets cells.
inline std::uint64_t cell_bytes(std::uint64_t records, std::uint64_t record_bytes,
                                const GeneralMemory& memory) {
  constexpr std::uint64_t kCellBytes = 4 * kMiB;
  constexpr std::uint64_t kMinSharedCellBytes = 64 * kKiB;  // smaller ones only if items are few
  constexpr std::uint64_t kMinCellBytes = 4 * kKiB;
  std::uint64_t bytes = kCellBytes;
  if (records > 0) {
    const std::uint64_t items = memory.geometry().item_capacity / 2;
    bytes = std::min(bytes, items * (record_bytes / records + 1));
  }
  bytes = std::min(
      bytes, std::max<std::uint64_t>(record_bytes / (8 * memory.threads()), kMinSharedCellBytes));
  return std::max<std::uint64_t>(bytes, kMinCellBytes);
}

}  // namespace xxl
