// Which records of S have the key of each record of R, found by the host: what devices find by
// Stream::match().
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/device/match.h"

namespace xxl::gpu {

// `r_key(i)` and `s_key(i)`: keys in ascending order, unsigned. Writes the range of each of
// `r_count` records, unless `ranges` is null, and the totals of each tile.
template <class RKey, class SKey>
void match_sorted(std::size_t r_count, RKey r_key, std::size_t s_count, SKey s_key,
                  MatchRange* ranges, TileTotals* totals) {
  std::size_t first = 0, end = 0;
  for (std::size_t i = 0; i < r_count; ++i) {
    const std::uint64_t key = r_key(i);
    const bool new_key = i == 0 || r_key(i - 1) != key;
    if (new_key) {
      first = end;
      while (first < s_count && s_key(first) < key) ++first;
      end = first;
      while (end < s_count && s_key(end) == key) ++end;
    }
    const MatchRange range{static_cast<std::uint32_t>(first),
                           static_cast<std::uint32_t>(end - first)};
    if (ranges != nullptr) ranges[i] = range;
    TileTotals& sum = totals[i / kMatchTile];
    if (i % kMatchTile == 0) sum = {};
    sum.pairs += range.count;
    sum.matched_r += range.count != 0;
    if (new_key) sum.matched_s += range.count;
    sum.s_end = range.end();
  }
}

}  // namespace xxl::gpu
