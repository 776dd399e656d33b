// Consecutive records in memory.
#pragma once

#include <cstddef>

namespace xxl {

// `count` consecutive records from `records` on. Not owned.
struct Segment {
  const std::byte* records = nullptr;
  std::size_t count = 0;
};

}  // namespace xxl
