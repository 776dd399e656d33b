// Rows of a join, made of ranges of matching records.
//
// A row is the key, the value of R and that of S, as they are in the records, concatenated; values
// of 0, 4 or 8 bytes. Rows come in the order of the keys; within a group in that of R, then that of
// S. Which rows there are is given by four flags, of which each kind of join is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu/device/match.h"
#include "gpu/join/join_parts.h"

namespace xxl::gpu {

struct WantedRows {
  bool pairs = false;      // each pair of an R and an S with equal keys
  bool matched_r = false;  // each R that has at least one such S, once; without S's value
  bool lone_r = false;     // each R that has none
  bool lone_s = false;     // each S that has none

  bool has_s() const { return pairs || lone_s; }
};

inline constexpr WantedRows kInnerJoin{.pairs = true};
inline constexpr WantedRows kLeftJoin{.pairs = true, .lone_r = true};
inline constexpr WantedRows kRightJoin{.pairs = true, .lone_s = true};
inline constexpr WantedRows kFullJoin{.pairs = true, .lone_r = true, .lone_s = true};
inline constexpr WantedRows kSemiJoin{.matched_r = true};
inline constexpr WantedRows kAntiJoin{.lone_r = true};

struct RowFormat {
  unsigned key_bytes = 8;
  unsigned r_value_bytes = 0;
  unsigned s_value_bytes = 0;  // 0 where rows have no S
  std::uint64_t missing = 0;   // value of the side that a lone record lacks; its first bytes

  // Of joins of records of these shapes.
  static RowFormat of(const RecordShape& r, const RecordShape& s, const WantedRows& wanted,
                      std::uint64_t missing);
  std::size_t bytes() const { return std::size_t{key_bytes} + r_value_bytes + s_value_bytes; }
};

// A part and its results. `ranges` and `totals` are null for parts that need no search; `ranges`
// also where a device writes the rows.
struct MatchedPart {
  JoinPart part;
  const MatchRange* ranges = nullptr;
  const TileTotals* totals = nullptr;

  // Counts of the whole part.
  TileTotals sum() const;
  std::uint64_t rows(const WantedRows& wanted) const;
};

// Counts of a whole join.
struct JoinCounts {
  std::uint64_t pairs = 0;
  std::uint64_t matched_r = 0, matched_s = 0;  // records that have a partner
  std::uint64_t lone_r = 0, lone_s = 0;        // and that have none

  void add(const MatchedPart& part);
  std::uint64_t rows(const WantedRows& wanted) const;
};

// Consecutive rows of a part, which one processor writes.
struct RowTask {
  std::size_t first_r = 0, end_r = 0;  // records of R, counted in the part
  std::uint64_t skip = 0;              // their rows that others write
  std::uint64_t rows = 0;
  std::uint64_t first_row = 0;  // counted in the part
};

// Divides the rows of a part into tasks of about `rows` each.
std::vector<RowTask> row_tasks(const MatchedPart& part, const WantedRows& wanted,
                               std::uint64_t rows);

// The number of the first row of each tile of R, and of the end; for parts that need a search.
std::vector<std::uint64_t> tile_rows(const MatchedPart& part, const WantedRows& wanted);

// Writes the rows of a task to `to`.
void write_task_rows(const Relation& r, const Relation& s, const MatchedPart& part,
                     const WantedRows& wanted, const RowFormat& format, const RowTask& task,
                     std::byte* to);

}  // namespace xxl::gpu
