// Binary search among numbers, which std::partition_point() does among iterators.
#pragma once

#include <cstdint>

namespace xxl {

// The first number in [low, high) for which `is_before` is false, or `high`. It must be true for
// all numbers in front of that one, and false for all behind it.
template <class IsBefore>
std::uint64_t partition_index(std::uint64_t low, std::uint64_t high, const IsBefore& is_before) {
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (is_before(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace xxl
