// Which rows a join of R and S has.
#pragma once

#include <cstddef>
#include <string_view>

namespace xxl {

enum class JoinKind {
  inner,  // each pair of an R and an S with equal keys
  left,   // and each R without such an S, once
  right,  // inner, and each S without such an R, once
  full,   // left and right
  semi,   // each R that has at least one such S, once
  anti,   // each R that has none
};

// The two inputs.
enum class JoinSide : std::size_t { r, s };
inline constexpr std::size_t kJoinSides = 2;

constexpr bool keeps_unmatched_r(JoinKind kind) {
  return kind == JoinKind::left || kind == JoinKind::full || kind == JoinKind::anti;
}
constexpr bool keeps_unmatched_s(JoinKind kind) {
  return kind == JoinKind::right || kind == JoinKind::full;
}
// True if a row is made for each pair of an R and an S that match.
constexpr bool keeps_pairs(JoinKind kind) {
  return kind != JoinKind::semi && kind != JoinKind::anti;
}

// inner, left, right, full, semi or anti. Throws Error{usage}.
JoinKind parse_join_kind(std::string_view word);

}  // namespace xxl
