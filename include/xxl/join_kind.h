// The kinds of joins, and the ways to join.
#pragma once

#include <cstddef>

namespace xxl {

// The two inputs.
enum class JoinSide : std::size_t { r, s };
inline constexpr std::size_t kJoinSides = 2;

// Which rows a join gives.
enum class JoinKind {
  inner,  // each pair of an R and an S with equal keys
  left,   // and each R without such an S, once
  right,  // inner, and each S without such an R, once
  full,   // left and right
  semi,   // each R that has at least one such S, once
  anti,   // each R that has none
};

// How they are found.
enum class JoinMethod {
  automatic,   // by sizes, order and memory
  sort_merge,  // both inputs in order of their keys; so is the output
  hash,        // one input in a table in memory, if it fits; rows in an order of its own
};

}  // namespace xxl
