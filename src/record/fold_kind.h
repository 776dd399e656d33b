// Folds: what becomes of a field where records with equal keys become one.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace xxl {

enum class FoldKind : std::uint8_t {
  sum,
  min,
  max,
  mean,
  first,
  last,
  collect,
  // Only of groups (SortJob::group):
  count,
  count_distinct,
  median,
};

// A fold as the user says it.
struct GivenFold {
  FoldKind kind;
  std::string field;  // of rows COLUMN and more, of records of a fixed size OFFSET:TYPE
};

// As options of the command line, in the order of FoldKind.
inline constexpr std::array<std::string_view, 10> kFoldNames = {
    "sum", "min", "max", "mean", "first", "last", "collect", "count", "count-distinct", "median"};

constexpr std::string_view name_of(FoldKind kind) {
  return kFoldNames[static_cast<std::size_t>(kind)];
}

constexpr std::optional<FoldKind> fold_kind(std::string_view name) {
  const auto found = std::find(kFoldNames.begin(), kFoldNames.end(), name);
  if (found == kFoldNames.end()) return {};
  return static_cast<FoldKind>(found - kFoldNames.begin());
}

constexpr bool is_of_groups(FoldKind kind) {
  return kind >= FoldKind::count;
}

// Gets the values of a group in ascending order.
constexpr bool needs_order_of_values(FoldKind kind) {
  return kind == FoldKind::count_distinct || kind == FoldKind::median;
}

// Depends on the order of the records in the input.
constexpr bool needs_order_of_input(FoldKind kind) {
  return kind == FoldKind::first || kind == FoldKind::last || kind == FoldKind::collect;
}

// Of the numbers of all records, not of one of them.
constexpr bool is_of_sum(FoldKind kind) {
  return kind == FoldKind::sum || kind == FoldKind::mean || kind == FoldKind::median;
}

}  // namespace xxl
