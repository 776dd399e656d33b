// Which records of S have the key of each record of R: what a device says of two sorted relations.
//
// R and S are the two inputs of a join. Sorted, all records of S with one key lie side by side, so
// that a range says it, and rows are made of ranges wherever the records are (join_rows.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace xxl::gpu {

// Of a record of R: the records of S that have its key. With `count` 0, `first` is where they would
// be, so that records of S that lie between the ranges of two records of R have no partner.
struct MatchRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;

  std::uint32_t end() const { return first + count; }
  friend bool operator==(const MatchRange&, const MatchRange&) = default;
};

// Records of R whose matches are summed up together: a tile.
inline constexpr std::size_t kMatchTile = 4096;

// Of a tile.
struct MatchTotals {
  std::uint64_t pairs = 0;      // sum of the counts
  std::uint32_t matched_r = 0;  // records of R that have a partner
  std::uint32_t matched_s = 0;  // of S, counted where the first record of R with their key is

  friend bool operator==(const MatchTotals&, const MatchTotals&) = default;
};

}  // namespace xxl::gpu
