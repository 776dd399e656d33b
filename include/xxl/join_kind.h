// The kinds of joins, and the ways to join.
#pragma once

#include <cstddef>

namespace xxl {

// The two inputs.
enum class JoinSide : std::size_t { r, s };
inline constexpr std::size_t kJoinSides = 2;

// The rows that a join gives.
enum class JoinKind {
  inner,  // each pair of a left (R) and a right (S) record with equal keys
  left,   // inner, and each R without a match, once
  right,  // inner, and each S without a match, once
  full,   // left and right
  semi,   // each R with a match, once
  anti,   // each R without a match
};

// The method of a join.
enum class JoinMethod {
  automatic,   // chosen by sizes, order and memory
  sort_merge,  // both inputs are sorted; the output is in the order of the keys
  hash,        // one input is held in a hash table, if it fits; rows in no particular order
};

}  // namespace xxl
