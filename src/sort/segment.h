// A stretch of records in memory.
#pragma once

#include <cstddef>

namespace xxl {

// `count` records, one behind the other from `records`. Not owned.
struct Segment {
  const std::byte* records = nullptr;
  std::size_t count = 0;
};

}  // namespace xxl
