// Which records of S have the key of each record of R: a device's result for two sorted relations.
//
// R and S are the two inputs of a join. In sorted relations all records of S with one key are
// neighbours, so a range describes them, and rows can be made of ranges wherever the records are
// (array_join_rows.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/device/host_device.h"

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
inline constexpr std::size_t kMatchTile = 1024;

// Of a tile.
struct TileTotals {
  std::uint64_t pairs = 0;      // sum of the counts
  std::uint32_t matched_r = 0;  // records of R that have a partner
  std::uint32_t matched_s = 0;  // of S, counted where the first record of R with their key is
  std::uint32_t s_end = 0;      // end of the last range
  std::uint32_t unused = 0;

  friend bool operator==(const TileTotals&, const TileTotals&) = default;
};

// The kinds of rows that a join makes. Inner, left, ... joins are sets of them.
struct WantedRows {
  bool pairs = false;      // each pair of an R and an S with equal keys
  bool matched_r = false;  // each R that has at least one such S, once; without S's value
  bool lone_r = false;     // each R that has none
  bool lone_s = false;     // each S that has none

  XXL_HOST_DEVICE bool has_s() const { return pairs || lone_s; }
};

// Rows that a device writes of a part; array_join_rows.h says how they look.
// All pointers are to its memory. Values are of no bytes or as many as the key.
struct DeviceRows {
  const std::byte* r = nullptr;  // records
  const std::byte* s = nullptr;
  std::uint32_t r_count = 0, s_count = 0;
  std::uint32_t r_record_bytes = 0, s_record_bytes = 0;
  std::uint32_t key_bytes = 8;
  WantedRows wanted;
  bool s_value = false;       // rows have a value of S
  std::uint64_t missing = 0;  // value of the side that a lone record lacks
  const MatchRange* ranges = nullptr;
  std::uint64_t first_row = 0, rows = 0;  // those to be written
};

}  // namespace xxl::gpu
