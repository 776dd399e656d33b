// Rows of a join, made of ranges of matching records.
//
// A row is the key, the value of R and that of S, as they are in the records, concatenated; values
// of 0, 4 or 8 bytes. Rows come in the order of the keys; within a group in that of R, then that of
// S.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu/device/match.h"
#include "gpu/join/join_parts.h"

namespace xxl::gpu {

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

// --- rows for other writers ---

// Of all rows that come, those of a task.
class RowWindow {
 public:
  explicit RowWindow(const RowTask& task) : skip_(task.skip), left_(task.rows) {}

  bool done() const { return left_ == 0; }
  // Keeps of `count` rows from `first` on those of the task; false if there is none.
  bool take(std::size_t& first, std::size_t& count) {
    if (skip_ != 0) {
      const std::uint64_t skipped = std::min<std::uint64_t>(skip_, count);
      skip_ -= skipped;
      first += skipped;
      count -= skipped;
    }
    count = static_cast<std::size_t>(std::min<std::uint64_t>(count, left_));
    left_ -= count;
    return count != 0;
  }

 private:
  std::uint64_t skip_;
  std::uint64_t left_;
};

// Calls, in the order of rows, with numbers of records counted in the part,
//   writer.pairs(i, first, count)   a row for each of `count` records of S beside record `i` of R
//   writer.lone_r(i)                a row of R alone
//   writer.lone_s(first, count)     a row for each of `count` records of S
template <class Writer>
void give_task_rows(const MatchedPart& matched, const WantedRows& wanted, const RowTask& task,
                    Writer& writer) {
  const JoinPart& part = matched.part;
  RowWindow window(task);
  const auto pairs = [&](std::size_t i, std::size_t first, std::size_t count) {
    if (window.take(first, count)) writer.pairs(i, first, count);
  };
  const auto lone_r = [&](std::size_t i) {
    std::size_t first = 0, count = 1;
    if (window.take(first, count)) writer.lone_r(i);
  };
  const auto lone_s = [&](std::size_t first, std::size_t count) {
    if (window.take(first, count)) writer.lone_s(first, count);
  };
  if (part.r_count() == 0) {
    if (wanted.lone_s) lone_s(0, part.s_count());
    return;
  }
  if (matched.ranges == nullptr) {  // one group, or no S at all
    for (std::size_t i = task.first_r; i < task.end_r && !window.done(); ++i) {
      if (part.s_count() == 0) {
        if (wanted.lone_r) lone_r(i);
      } else if (wanted.pairs) {
        pairs(i, 0, part.s_count());
      } else if (wanted.matched_r) {
        lone_r(i);
      }
    }
    return;
  }
  std::size_t s_done = task.first_r == 0 ? 0 : matched.ranges[task.first_r - 1].end();
  for (std::size_t i = task.first_r; i < task.end_r && !window.done(); ++i) {
    const MatchRange range = matched.ranges[i];
    if (wanted.lone_s && range.first > s_done) lone_s(s_done, range.first - s_done);
    s_done = range.end();
    if (range.count == 0) {
      if (wanted.lone_r) lone_r(i);
    } else if (wanted.pairs) {
      pairs(i, range.first, range.count);
    } else if (wanted.matched_r) {
      lone_r(i);
    }
  }
  if (wanted.lone_s && task.end_r == part.r_count() && s_done < part.s_count()) {
    lone_s(s_done, part.s_count() - s_done);
  }
}

}  // namespace xxl::gpu
