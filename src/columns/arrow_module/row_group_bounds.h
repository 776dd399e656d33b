// Which row groups certainly have none of the first rows in an order: --limit of Parquet.
//
//   --limit=10 --key=time            rows   least  greatest
//     group 0                          8      100       200
//     group 1                          5      150       250    8 + 5 rows are at most 250,
//     group 2                          9      260       300    so that these cannot be among the
//     group 3                          9      250       270    first 10, but these can: equal to
//                                                              250, and an earlier place
#pragma once

#include <parquet/metadata.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "columns/files/module_table.h"

namespace xxl::arrow_module {

// What the statistics of a row group say of one column. Values are strings whose bytes are in the
// order of the values.
struct RowGroupBounds {
  std::uint64_t rows = 0;
  std::optional<std::uint64_t> nulls;
  // No value is below or above these; they need not occur. None: nothing is known.
  struct LeastAndGreatest {
    std::string least;
    std::string greatest;
  };
  std::optional<LeastAndGreatest> range;
};

// For each row group, whether it has none of the `wanted` rows for certain.
std::vector<bool> row_groups_to_leave_out(const std::vector<RowGroupBounds>& groups,
                                          const module_table::FirstRows& wanted);

// The bounds of the leaf column `leaf` in a row group. Floating-point numbers have none: statistics
// do not count NaNs.
RowGroupBounds bounds_of(const ::parquet::RowGroupMetaData& group, int leaf);

}  // namespace xxl::arrow_module
