// Binary search among numbers, as std::partition_point() does it among iterators.
#pragma once

#include <cstdint>

namespace xxl {

// The first number in [low, high) for which `is_before` is false, or `high`. REQUIRES: it is true
// for all numbers before that one, and false for all after it.
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
