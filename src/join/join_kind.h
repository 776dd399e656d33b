// Which rows a join of R and S has.
#pragma once

#include <string_view>

#include "xxl/join.h"

namespace xxl {

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

// Which rows there are, one by one: join(1) has combinations that are no kind of join.
struct JoinShape {
  bool pairs = false;        // a row for each pair
  bool matched_r = false;    // a row for each R that has a partner
  bool unmatched_r = false;  // a row for each R that has none
  bool unmatched_s = false;  // likewise of S

  bool operator==(const JoinShape&) const = default;
};

constexpr JoinShape shape_of(JoinKind kind) {
  return {.pairs = keeps_pairs(kind),
          .matched_r = kind == JoinKind::semi,
          .unmatched_r = keeps_unmatched_r(kind),
          .unmatched_s = keeps_unmatched_s(kind)};
}

// inner, left, right, full, semi or anti. Throws Error{usage}.
JoinKind parse_join_kind(std::string_view word);

}  // namespace xxl
