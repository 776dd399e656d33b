#include "job/fixed_sort/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "advised_memory.h"
#include "base/error.h"
#include "base/units.h"
#include "io/sequential_reader.h"
#include "merge/common_cells.h"
#include "run/run.h"
#include "sort/make_piece_sorter.h"
#include "sort_test_support.h"

namespace xxl {
namespace {

using test::format_of;

std::string describe(const PlanInput& input, const RecordFormat& format) {
  return format.name + " memory " + std::to_string(input.memory_bytes) + " input " +
         std::to_string(input.input_bytes) + " threads " + std::to_string(input.threads) +
         " batch " + std::to_string(input.batch_size) + (input.merge_only ? " merge" : "") +
         (input.merge_accelerated ? " accelerated" : "");
}

// All that a plan promises about sizes.
void expect_sound(const PlanInput& input, const KeyLayout& layout, const Geometry& g) {
  const std::size_t record_bytes = layout.record_bytes();
  EXPECT_GE(g.threads, 1u);
  EXPECT_LE(g.threads, input.threads);
  EXPECT_EQ(g.block_bytes % kSectorBytes, 0u);
  EXPECT_GE(g.records_per_block, 1u);
  EXPECT_LE(g.records_per_block * record_bytes, g.block_bytes);

  // The blocks' table and the region stay within the memory.
  const std::uint64_t blocks = input.input_bytes / record_bytes / g.records_per_block;
  EXPECT_LE(g.region_bytes + blocks * sizeof(RunBlock), input.memory_bytes);

  // Merging.
  const std::size_t merge_sorter =
      round_up(piece_scratch_bytes(layout, g.merge_piece_capacity), kSectorBytes);
  EXPECT_LE(g.merge_output_bytes + g.threads * merge_sorter +
                g.large_sorters * g.large_staging_bytes + g.merge_blocks * g.block_bytes,
            g.region_bytes);
  EXPECT_LE(g.large_sorters * g.large_staging_bytes, g.region_bytes / 4);
  EXPECT_LE(g.large_sorters, g.threads);
  if (g.large_sorters > 0) {
    EXPECT_TRUE(input.merge_accelerated);
    EXPECT_GT(g.large_piece_records, g.merge_piece_records);
    EXPECT_GT(g.large_piece_capacity, 2 * g.large_piece_records);
    EXPECT_LE(g.large_piece_capacity * record_bytes, g.large_staging_bytes);
    EXPECT_EQ(g.large_staging_bytes % kSectorBytes, 0u);
    for (const std::size_t block : {g.block_bytes, g.final_block_bytes}) {
      EXPECT_GT(g.merge_output_bytes / block * block,
                g.large_sorters * g.large_piece_capacity * record_bytes + 2 * block);
    }
  }
  EXPECT_GE(g.merge_degree, 2u);
  EXPECT_LT(g.merge_degree, g.merge_blocks);
  EXPECT_LE(g.merge_degree, g.merge_piece_records);
  EXPECT_GE(g.merge_piece_capacity, 2 * g.merge_piece_records);
  if (input.batch_size != 0) {
    EXPECT_LE(g.merge_degree, input.batch_size);
  }
  if (g.cells_unsorted) {
    EXPECT_GE(g.merge_piece_capacity, g.piece_capacity);
    const std::size_t spare = round_up(g.merge_piece_capacity * record_bytes, kSectorBytes);
    EXPECT_LE(
        g.merge_output_bytes + g.threads * (merge_sorter + spare) + g.merge_blocks * g.block_bytes,
        g.region_bytes);
  }
  EXPECT_GE(g.final_block_bytes, g.block_bytes);
  EXPECT_EQ(g.final_block_bytes % kSectorBytes, 0u);
  // The output has room for a piece on each worker, whatever the block: else nothing moves.
  const std::size_t piece_bytes = g.merge_piece_capacity * record_bytes;
  for (const std::size_t block : {g.block_bytes, g.final_block_bytes}) {
    EXPECT_GT(g.merge_output_bytes / block * block, g.threads * piece_bytes + 2 * block);
  }

  if (input.merge_only) return;
  // Run formation.
  EXPECT_EQ(g.read_block_bytes % kSectorBytes, 0u);
  EXPECT_GE(g.read_block_bytes, record_bytes);
  EXPECT_GE(g.read_blocks, 2u);
  const std::size_t reading =
      g.read_blocks * io::SequentialReader::buffer_bytes(g.read_block_bytes, record_bytes);
  const std::size_t sorter = round_up(piece_scratch_bytes(layout, g.piece_capacity), kSectorBytes);
  EXPECT_LE(reading + g.output_blocks * g.block_bytes + g.threads * sorter + g.chunk.memory_bytes,
            g.region_bytes);
  EXPECT_GT(g.output_blocks * g.block_bytes,
            g.threads * g.piece_capacity * record_bytes + 2 * g.block_bytes);
  EXPECT_GE(g.chunk.push_records, g.read_block_bytes / record_bytes);
  EXPECT_LE(g.chunk.buckets, CpuChunkGeometry::kMostBuckets);
  EXPECT_LT(2 * g.chunk.region_bytes, g.chunk.memory_bytes);
  EXPECT_LT(g.chunk.resident_bytes, 2 * g.chunk.region_bytes);
}

std::vector<RecordFormat> formats() {
  return {format_of("u32"),
          format_of("u64"),
          format_of("kv64"),
          format_of("gensort"),
          format_of("fixed:1"),
          format_of("fixed:4097", {"0:u64"}),
          format_of("fixed:100000", {"0:bytes10"}),
          format_of("fixed:3000000", {"7:u32"})};
}

// Buckets are split one after the other: a sort in memory must not depend on that.
TEST(Plan, buckets_of_any_memory_leave_whole) {
  for (const RecordFormat& format : {format_of("u32"), format_of("u64"), format_of("gensort")}) {
    const KeyLayout layout(format);
    for (const std::uint64_t memory : {256 * kMiB, kGiB, 10 * kGiB, 100 * kGiB, 1000 * kGiB}) {
      for (const unsigned threads : {1u, 16u, 64u}) {
        const PlanInput input{.memory_bytes = memory,
                              .input_bytes = memory / 4 * 3,
                              .input_size_known = true,
                              .threads = threads,
                              .scratch_disks = 1};
        SCOPED_TRACE(describe(input, format));
        const Geometry g = plan_geometry(input, layout);
        const std::size_t bucket_bytes = 2 * g.chunk.region_bytes / g.chunk.buckets;
        EXPECT_GE(g.piece_capacity * layout.record_bytes(), bucket_bytes / 10 * 17);
        EXPECT_EQ(g.threads, threads);
      }
    }
  }
}

TEST(Plan, every_plan_fits_its_memory) {
  std::size_t planned = 0;
  for (const RecordFormat& format : formats()) {
    const KeyLayout layout(format);
    for (const std::uint64_t memory :
         {kMiB / 4, kMiB, 3 * kMiB, 16 * kMiB + 12345, 100 * kMiB, kGiB, 40 * kGiB}) {
      for (const std::uint64_t input_bytes :
           {std::uint64_t{0}, memory / 2, 5 * memory, 300 * memory, std::uint64_t{1} << 45}) {
        for (const unsigned threads : {1u, 3u, 16u, 128u}) {
          for (const unsigned batch_size : {0u, 2u, 100u}) {
            for (const unsigned kind : {0u, 1u, 2u, 3u}) {
              const bool merge_only = kind % 2 == 1;
              PlanInput input{.memory_bytes = memory,
                              .input_bytes = input_bytes,
                              .input_size_known = input_bytes != 0,
                              .threads = threads,
                              .scratch_disks = threads == 3 ? 5u : 1u,
                              .batch_size = batch_size,
                              .merge_only = merge_only,
                              .merge_inputs = merge_only ? 50u : 0u,
                              .merge_accelerated = kind >= 2};
              SCOPED_TRACE(describe(input, format));
              try {
                expect_sound(input, layout, plan_geometry(input, layout));
                ++planned;
              } catch (const Error& error) {
                EXPECT_EQ(error.code(), ErrorCode::no_space);
              }
              if (testing::Test::HasFailure()) return;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(planned, 1000u);
}

// Each piece is cut out of all runs, by one thread: what it costs must not grow with the runs.
TEST(Plan, pieces_of_many_runs_have_some_records_of_each) {
  const KeyLayout layout(parse_record_format("gensort"));
  for (const unsigned threads : {1u, 12u}) {
    for (const unsigned runs : {10u, 100u, 400u}) {
      const PlanInput input{
          .memory_bytes = 256 * kMiB, .threads = threads, .merge_only = true, .merge_inputs = runs};
      SCOPED_TRACE(std::to_string(runs) + ", threads " + std::to_string(threads));
      const Geometry plan = plan_geometry(input, layout);
      EXPECT_GE(plan.merge_degree, runs);
      EXPECT_GE(plan.merge_piece_records, 12 * runs);
    }
  }
}

TEST(Plan, the_minimum_named_by_the_error_is_enough) {
  for (const RecordFormat& format : formats()) {
    const KeyLayout layout(format);
    for (const std::uint64_t input_bytes : {kMiB, 100 * kMiB, 100 * kGiB}) {
      for (const unsigned threads : {1u, 16u}) {
        PlanInput input{.memory_bytes = 64 * kKiB, .input_bytes = input_bytes, .threads = threads};
        SCOPED_TRACE(describe(input, format));
        try {
          plan_geometry(input, layout);
          FAIL() << "must be too small";
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::no_space);
          input.memory_bytes = advised_memory(error.what());
        }
        EXPECT_NO_THROW(expect_sound(input, layout, plan_geometry(input, layout)));
      }
    }
  }
}

TEST(Plan, ordinary_budgets_merge_in_one_pass) {
  const KeyLayout layout(format_of("u64"));
  for (const std::uint64_t memory : {64 * kMiB, 512 * kMiB, 4 * kGiB}) {
    PlanInput input{.memory_bytes = memory, .input_bytes = 30 * memory, .threads = 2};
    const Geometry geometry = plan_geometry(input, layout);
    EXPECT_GE(geometry.merge_degree, 30u) << memory;
    EXPECT_GE(2 * geometry.chunk.region_bytes, memory / 2) << memory;
  }
}

TEST(Plan, one_pass_is_enough_wherever_the_tables_fit_whatever_the_threads) {
  for (const char* record : {"u64", "gensort"}) {
    const KeyLayout layout(format_of(record));
    for (const auto& [memory, terabytes] :
         {std::pair{64 * kMiB, 0.01}, std::pair{256 * kMiB, 0.1}, std::pair{kGiB, 1.0},
          std::pair{4 * kGiB, 10.0}, std::pair{16 * kGiB, 100.0}, std::pair{1024 * kGiB, 100.0}}) {
      for (const unsigned threads : {1u, 2u, 4u, 8u, 12u, 16u, 32u, 64u, 128u}) {
        const PlanInput input{.memory_bytes = memory,
                              .input_bytes = static_cast<std::uint64_t>(terabytes * 1e12),
                              .threads = threads};
        const Geometry geometry = plan_geometry(input, layout);
        const std::uint64_t runs = input.input_bytes / (geometry.region_bytes / 4 * 5) + 2;
        EXPECT_GE(geometry.merge_degree, runs) << record << ' ' << memory << ' ' << threads;
        EXPECT_GE(geometry.threads, std::min(threads, 4u));
      }
    }
  }
}

TEST(Plan, an_accelerator_gets_large_pieces_of_the_merge) {
  for (const char* record : {"u32", "u64", "kv64", "gensort"}) {
    const KeyLayout layout(format_of(record));
    for (const std::uint64_t memory : {128 * kMiB, kGiB, 16 * kGiB}) {
      PlanInput input{.memory_bytes = memory,
                      .input_bytes = 20 * memory,
                      .threads = 16,
                      .accelerated = true,
                      .chunk_bytes = 4 * memory};
      const Geometry without = plan_geometry(input, layout);
      EXPECT_EQ(without.large_sorters, 0u);
      input.merge_accelerated = true;
      const Geometry geometry = plan_geometry(input, layout);
      EXPECT_GE(geometry.large_sorters, 2u);
      EXPECT_GE(geometry.large_piece_records * layout.record_bytes(), kMiB);
      EXPECT_GE(geometry.merge_blocks * 2, without.merge_blocks);
    }
  }
}

TEST(Plan, large_pieces_cost_no_further_pass) {
  const KeyLayout layout(format_of("u64"));
  const std::uint64_t memory = 64 * kMiB;
  for (std::uint64_t runs = 2; runs < 250; runs = runs * 5 / 4 + 1) {
    PlanInput input{.memory_bytes = memory,
                    .input_bytes = runs * memory,
                    .threads = 4,
                    .accelerated = true,
                    .chunk_bytes = memory};
    const Geometry without = plan_geometry(input, layout);
    input.merge_accelerated = true;
    const Geometry geometry = plan_geometry(input, layout);
    EXPECT_EQ(merge_passes(runs, geometry.merge_degree), merge_passes(runs, without.merge_degree));
  }
}

// ---- runs left unsorted within cells ----

PlanInput large_random_input() {
  return {.memory_bytes = kGiB, .input_bytes = 4 * kGiB, .threads = 2};
}

TEST(PlanCells, large_inputs_of_few_runs_are_left_unsorted_within_cells) {
  for (const char* record : {"u32", "u64", "kv64", "gensort"}) {
    const KeyLayout layout(format_of(record));
    PlanInput input = large_random_input();
    input.input_bytes = input.input_bytes / layout.record_bytes() * layout.record_bytes();
    EXPECT_TRUE(plan_geometry(input, layout).cells_unsorted) << record;
    input.scratch_disks = 4;
    EXPECT_TRUE(plan_geometry(input, layout).cells_unsorted) << record;
    // Of a pipe too, which may yet fit: then no run begins before the memory is full.
    input.input_size_known = false;
    input.input_bytes = 0;
    const Geometry geometry = plan_geometry(input, layout);
    EXPECT_TRUE(geometry.cells_unsorted) << record;
    EXPECT_FALSE(geometry.chunk.leaves_early) << record;
    EXPECT_GE(geometry.merge_degree, 17u) << record;
  }
}

TEST(PlanCells, not_where_merging_could_not_or_need_not_take_whole_cells) {
  const KeyLayout layout(format_of("u64"));
  ASSERT_TRUE(plan_geometry(large_random_input(), layout).cells_unsorted);
  PlanInput input = large_random_input();
  input.in_order = true;
  EXPECT_FALSE(plan_geometry(input, layout).cells_unsorted) << "-u";
  input = large_random_input();
  input.merge_only = true;
  input.merge_inputs = 4;
  EXPECT_FALSE(plan_geometry(input, layout).cells_unsorted) << "-m";
  input = large_random_input();
  input.input_bytes = input.memory_bytes / 2;
  EXPECT_FALSE(plan_geometry(input, layout).cells_unsorted) << "fits in memory";
  input = large_random_input();
  input.memory_bytes = kMiB;
  input.input_bytes = 40 * kMiB;
  EXPECT_FALSE(plan_geometry(input, layout).cells_unsorted) << "too little memory";
  input = large_random_input();
  input.batch_size = 2;
  EXPECT_FALSE(plan_geometry(input, layout).cells_unsorted) << "several passes";
  for (const char* record : {"fixed:24", "fixed:300"}) {
    EXPECT_FALSE(plan_geometry(large_random_input(), KeyLayout(format_of(record))).cells_unsorted)
        << "keys longer than a trigger: " << record;
  }
}

// Runs as large as run formation may leave them: cells of as many records as a piece may have in
// every run, or all that the merge takes whole in one run or two.
TEST(PlanCells, the_merge_has_more_buffers_than_cells_may_hold) {
  std::size_t checked = 0;
  for (const char* record : {"u32", "u64", "kv64", "gensort"}) {
    const KeyLayout layout(format_of(record));
    for (const std::uint64_t memory : {4 * kMiB, 6 * kMiB, 64 * kMiB, kGiB}) {
      for (const std::uint64_t times : {2u, 3u, 8u, 30u}) {
        for (const unsigned threads : {1u, 2u}) {
          const std::size_t record_bytes = layout.record_bytes();
          const PlanInput input{.memory_bytes = memory,
                                .input_bytes = times * memory / record_bytes * record_bytes,
                                .input_size_known = times != 30,
                                .threads = threads};
          const Geometry g = plan_geometry(input, layout);
          if (!g.cells_unsorted) continue;
          ++checked;
          const CellGrid grid({{{10, 0}}, {{20, 0}}});
          for (const std::uint64_t first :
               {g.piece_capacity, g.merge_piece_capacity / g.merge_degree, std::size_t{1}}) {
            std::vector<xxl::Run> runs(g.merge_degree);
            for (xxl::Run& run : runs) {
              const std::uint64_t in_cell = std::min<std::uint64_t>(first, g.piece_capacity);
              run.records_per_block = g.records_per_block;
              run.records = 3 * in_cell;
              run.cells.emplace(grid);
              for (std::size_t cell = 0; cell < 3; ++cell) {
                run.cells->enter(cell, cell * in_cell, false);
              }
              run.cells->finish(run.records);
            }
            EXPECT_GT(g.merge_blocks, CommonCells(runs, g.merge_piece_capacity).blocks_held())
                << describe(input, format_of(record));
            runs.front().cells.reset();  // a run of another kind among them
            EXPECT_GT(g.merge_blocks, CommonCells(runs, g.merge_piece_capacity).blocks_held())
                << describe(input, format_of(record));
          }
        }
      }
    }
  }
  EXPECT_GT(checked, 20u);
}

TEST(MergePasses, is_the_number_of_levels_of_a_tree_of_the_degree) {
  EXPECT_EQ(merge_passes(0, 8), 0u);
  EXPECT_EQ(merge_passes(1, 8), 0u);
  EXPECT_EQ(merge_passes(2, 8), 1u);
  EXPECT_EQ(merge_passes(8, 8), 1u);
  EXPECT_EQ(merge_passes(9, 8), 2u);
  EXPECT_EQ(merge_passes(64, 8), 2u);
  EXPECT_EQ(merge_passes(65, 8), 3u);
  EXPECT_EQ(merge_passes(1000, 2), 10u);
  EXPECT_EQ(merge_passes(1024, 2), 10u);
  EXPECT_EQ(merge_passes(1025, 2), 11u);
}

TEST(BalancedDegree, needs_no_more_passes_and_is_the_smallest_such) {
  for (const std::size_t max_degree : {2u, 3u, 8u, 100u}) {
    for (std::uint64_t runs = 2; runs < 3000; runs += 1 + runs / 7) {
      SCOPED_TRACE(std::to_string(runs) + " runs, at most " + std::to_string(max_degree));
      const unsigned passes = merge_passes(runs, max_degree);
      const std::size_t degree = balanced_degree(runs, passes, max_degree);
      EXPECT_GE(degree, 2u);
      EXPECT_LE(degree, max_degree);
      EXPECT_EQ(merge_passes(runs, degree), passes);
      if (degree > 2 && passes > 1) {
        EXPECT_GT(merge_passes(runs, degree - 1), passes);
      }
    }
  }
}

TEST(BalancedDegree, of_one_pass_is_all_runs) {
  EXPECT_EQ(balanced_degree(7, 1, 100), 7u);
  EXPECT_GE(balanced_degree(1, 1, 100), 1u);
  EXPECT_GE(balanced_degree(0, 1, 100), 1u);
}

TEST(PlanGeometry, merges_small_files_in_small_blocks) {
  PlanInput input{.memory_bytes = 8 * kGiB,
                  .input_bytes = 3000 * 8,
                  .merge_only = true,
                  .merge_inputs = 3000,
                  .largest_input = 8};
  const KeyLayout layout(format_of("u64"));
  EXPECT_LE(plan_geometry(input, layout).block_bytes, 16 * kKiB);
  input.largest_input = 100 * kMiB;
  EXPECT_GE(plan_geometry(input, layout).block_bytes, kMiB);
}

}  // namespace
}  // namespace xxl
