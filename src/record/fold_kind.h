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

enum class FoldKind : std::uint8_t { sum, min, max, mean, first, last, collect };

// A fold as the user says it.
struct GivenFold {
  FoldKind kind;
  std::string field;  // of rows COLUMN and more, of records of a fixed size OFFSET:TYPE
};

// As options of the command line, in the order of FoldKind.
inline constexpr std::array<std::string_view, 7> kFoldNames = {"sum",   "min",  "max",    "mean",
                                                               "first", "last", "collect"};

constexpr std::string_view name_of(FoldKind kind) {
  return kFoldNames[static_cast<std::size_t>(kind)];
}

constexpr std::optional<FoldKind> fold_kind(std::string_view name) {
  const auto found = std::find(kFoldNames.begin(), kFoldNames.end(), name);
  if (found == kFoldNames.end()) return {};
  return static_cast<FoldKind>(found - kFoldNames.begin());
}

// Of the numbers of all records, not of one of them.
constexpr bool is_of_sum(FoldKind kind) {
  return kind == FoldKind::sum || kind == FoldKind::mean;
}

}  // namespace xxl
