// How much memory would be enough: found by asking the plan itself, so that what is advised and
// what is accepted cannot disagree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/memory_name.h"
#include "base/units.h"

namespace xxl {

// The least whole number of MiB, at least `from` bytes, that `accepts(bytes)`; nothing if not even
// 64 TiB are enough. `accepts` need not be monotonic: what is returned is accepted.
template <class Accepts>
std::optional<std::uint64_t> least_memory(std::uint64_t from, Accepts&& accepts) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 26;  // MiB
  const auto accepts_mebibytes = [&](std::uint64_t mebibytes) { return accepts(mebibytes * kMiB); };
  std::uint64_t high = ceil_div<std::uint64_t>(from, kMiB);
  std::uint64_t low = high - (high > 0 ? 1 : 0);  // is too little, or less than `from`
  for (std::uint64_t step = 1; !accepts_mebibytes(high); step *= 2) {
    if (high > kMost) return std::nullopt;
    low = std::exchange(high, high + step);
  }
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (accepts_mebibytes(middle) ? high : low) = middle;
  }
  return high * kMiB;
}

// For messages: what to do, where `enough` is what least_memory() found.
inline std::string memory_advice(std::optional<std::uint64_t> enough) {
  return enough ? "give at least " + memory_to_give(*enough) : "give more";
}

}  // namespace xxl
