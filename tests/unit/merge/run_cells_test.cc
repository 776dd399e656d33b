// Cells and what runs remember of them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "run/cell_grid.h"
#include "run/run.h"
#include "sort_test_support.h"

namespace xxl {
namespace {

using test::Bytes;
using test::format_of;

// Cells of one-word keys: below 10, 10 to 19, 20 to 29, from 30 on.
CellGrid tens() {
  return CellGrid({{{10, 0}}, {{20, 0}}, {{30, 0}}});
}

TEST(CellGrid, a_boundary_is_the_first_key_of_its_cell) {
  const CellGrid grid = tens();
  EXPECT_EQ(grid.cells(), 4u);
  EXPECT_EQ(grid.cell_of({{0, 0}}), 0u);
  EXPECT_EQ(grid.cell_of({{9, ~std::uint64_t{0}}}), 0u);
  EXPECT_EQ(grid.cell_of({{10, 0}}), 1u);
  EXPECT_EQ(grid.cell_of({{29, 0}}), 2u);
  EXPECT_EQ(grid.cell_of({{30, 0}}), 3u);
  EXPECT_EQ(grid.cell_of({{~std::uint64_t{0}, ~std::uint64_t{0}}}), 3u);
}

TEST(CellGrid, the_lower_bound_of_a_cell_is_in_it_and_none_is_below) {
  const CellGrid grid({{{0, 1}}, {{10, 0}}, {{10, 5}}});
  for (std::size_t cell = 0; cell < grid.cells(); ++cell) {
    EXPECT_EQ(grid.cell_of(grid.lower_bound(cell)), cell);
  }
  EXPECT_EQ(grid.lower_bound(0), Trigger{});
  EXPECT_EQ(grid.cell_of({{10, 4}}), 2u);
}

TEST(CellGrid, without_boundaries_everything_is_one_cell) {
  const CellGrid grid({});
  EXPECT_EQ(grid.cells(), 1u);
  EXPECT_EQ(grid.cell_of({{12, 34}}), 0u);
}

TEST(RunCells, knows_where_cells_start_and_which_are_sorted) {
  const CellGrid grid = tens();
  RunCells cells(grid);
  cells.enter(1, 0, false);
  cells.enter(3, 100, true);
  cells.enter(3, 150, true);  // a cell in parts
  cells.finish(170);
  EXPECT_EQ(cells.records(0), 0u);
  EXPECT_EQ(cells.records(1), 100u);
  EXPECT_EQ(cells.records(2), 0u);
  EXPECT_EQ(cells.records(3), 70u);
  EXPECT_EQ(cells.start(4), 170u);
  EXPECT_FALSE(cells.is_sorted(1));
  EXPECT_TRUE(cells.is_sorted(3));
}

TEST(RunCells, of_an_empty_run_are_empty) {
  const CellGrid grid = tens();
  RunCells cells(grid);
  cells.finish(0);
  for (std::size_t cell = 0; cell < grid.cells(); ++cell) EXPECT_EQ(cells.records(cell), 0u);
}

TEST(RunCells, a_part_of_a_cell_must_be_sorted) {
  const CellGrid grid = tens();
  RunCells cells(grid);
  cells.enter(2, 0, true);
  EXPECT_DEATH(cells.enter(2, 10, false), "");
  EXPECT_DEATH(cells.enter(1, 10, true), "");  // and cells come in order
}

TEST(BlockTrigger, is_the_first_key_or_the_lower_bound_of_an_unsorted_cell) {
  const KeyLayout layout(format_of("u64"));
  const auto record = [](std::uint64_t key) {
    Bytes bytes(8);
    std::memcpy(bytes.data(), &key, 8);
    return bytes;
  };
  xxl::Run run;  // not testing::Test::Run
  EXPECT_EQ(block_trigger(run, layout, record(17).data()), (Trigger{{17, 0}}));
  const CellGrid grid = tens();
  run.cells.emplace(grid);
  run.cells->enter(0, 0, false);
  run.cells->enter(1, 50, false);
  run.cells->enter(2, 80, true);
  run.cells->finish(90);
  EXPECT_EQ(block_trigger(run, layout, record(7).data()), Trigger{});
  EXPECT_EQ(block_trigger(run, layout, record(17).data()), (Trigger{{10, 0}}));
  EXPECT_EQ(block_trigger(run, layout, record(27).data()), (Trigger{{27, 0}}));
}

}  // namespace
}  // namespace xxl
