#include "merge/common_cells.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "run/cell_grid.h"
#include "run/run.h"

namespace xxl {
namespace {

TEST(CommonCells, blocks_held_are_those_of_the_largest_cell_or_of_parts_that_are_sorted_apart) {
  const CellGrid grid({{{10, 0}}, {{20, 0}}});
  const auto run_of = [&](std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    xxl::Run run;  // not testing::Test::Run
    run.records = a + b + c;
    run.records_per_block = 10;
    run.cells.emplace(grid);
    run.cells->enter(0, 0, false);
    run.cells->enter(1, a, false);
    run.cells->enter(2, a + b, false);
    run.cells->finish(run.records);
    return run;
  };
  std::vector<xxl::Run> runs;
  runs.push_back(run_of(30, 5, 100));
  runs.push_back(run_of(30, 5, 15));
  EXPECT_EQ(CommonCells(runs, 1000).blocks_held(), 11u + 3u);
  xxl::Run sorted;
  sorted.records = 50;
  sorted.records_per_block = 10;
  runs.push_back(std::move(sorted));  // no cells in common: each run sorts its own
  EXPECT_EQ(CommonCells(runs, 1000).blocks_held(), 11u + 4u + 1u);
}

}  // namespace
}  // namespace xxl
