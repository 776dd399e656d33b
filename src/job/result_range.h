// Which records of a sorted result are written.
//
//     result    a b c d e f g        skip 2, limit 3: c d e are written, a to e must be known
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace xxl {

struct ResultRange {
  std::uint64_t skip = 0;              // the first `skip` records are left out
  std::optional<std::uint64_t> limit;  // of the others, only the first `limit` are written

  // Records from the start of the result that matter, if not all do.
  std::optional<std::uint64_t> needed() const {
    if (!limit) return std::nullopt;
    return *limit + std::min(skip, ~*limit);
  }
  // Of so many records of the result, how many are written.
  std::uint64_t written_of(std::uint64_t records) const {
    const std::uint64_t left = records - std::min(skip, records);
    return limit ? std::min(*limit, left) : left;
  }
};

}  // namespace xxl
