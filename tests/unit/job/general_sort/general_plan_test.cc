// How the memory of a text sort is divided.
#include "job/general_sort/general_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/units.h"
#include "job/general_sort/general_memory.h"
#include "run/run_tables.h"

namespace xxl {
namespace {

constexpr std::uint64_t kGigabyte = 1'000'000'000;

TEST(GeneralPlan, memory_and_tables_take_no_more_than_promised) {
  Monitor monitor;
  for (const std::uint64_t memory : {4, 16, 64, 256, 1024}) {
    for (const std::uint64_t size : {0, 1, 8, 32, 1000, 100'000}) {
      for (const unsigned threads : {1u, 2u, 16u}) {
        GeneralPlanInput input;
        input.memory_bytes = memory * kMiB;
        input.input_bytes = size * kGigabyte;
        input.size_known = size != 0;
        input.threads = threads;
        const GeneralMemory planned(input, monitor);
        const GeneralGeometry& plan = planned.geometry();
        EXPECT_LE(plan.memory_bytes + plan.table_bytes, input.memory_bytes + kSpareTableBytes);
        EXPECT_GE(plan.table_bytes, kSpareTableBytes);
      }
    }
  }
}

// A merge in one pass by cells, as before, wherever its tables have room.
TEST(GeneralPlan, blocks_are_as_large_as_one_pass_allows) {
  GeneralPlanInput input;
  input.memory_bytes = kGiB;
  input.input_bytes = 2 * kGigabyte;
  input.threads = 2;
  EXPECT_EQ(plan_general(input)->block_bytes, kMiB);
  input.memory_bytes = 64 * kMiB;
  input.input_bytes = 2 * kGigabyte;
  const GeneralGeometry plan = *plan_general(input);
  EXPECT_GE(plan.memory_bytes / 2 / (2 * plan.block_bytes),
            input.input_bytes / (plan.region_bytes / 5 * 4));
  EXPECT_LE(expected_table_bytes(input.input_bytes, 0, plan.block_bytes), plan.table_bytes);
}

// What stays in memory has a region for each part that is read.
TEST(GeneralPlan, input_that_is_held_is_read_in_no_more_parts_than_regions) {
  for (const unsigned threads : {1u, 2u, 4u, 8u, 12u, 64u}) {
    for (const std::uint64_t memory : {64 * kMiB, 256 * kMiB, kGiB}) {
      for (const std::uint64_t percent : {5, 10, 20, 30, 40}) {
        GeneralPlanInput input;
        input.memory_bytes = memory;
        input.input_bytes = memory / 100 * percent;
        input.threads = threads;
        SCOPED_TRACE(std::to_string(threads) + " threads, " + std::to_string(memory / kMiB) +
                     " MiB, " + std::to_string(percent) + " %");
        const GeneralPlanInput best = *with_best_threads(input);
        const GeneralGeometry plan = *plan_general(best);
        if (plan.passes == 0) {
          EXPECT_LE(input.input_bytes / plan.chunk_bytes, plan.regions - 1);
        }
      }
    }
  }
}

// Memory is dear where it is used for the first time.
TEST(GeneralPlan, takes_the_memory_that_is_worth_it) {
  GeneralPlanInput input;
  input.memory_bytes = kGiB;
  input.input_bytes = 4 * kGigabyte;
  input.threads = 2;
  const GeneralGeometry plan = *plan_general(input);
  EXPECT_LE(plan.memory_bytes, kGiB / 2);
  EXPECT_EQ(plan.passes, 1u);
  input.threads = 12;  // shorter runs otherwise
  EXPECT_GT(plan_general(input)->memory_bytes, kGiB / 8 * 7);
  input.threads = 2;
  input.input_bytes = 2 * kGigabyte;  // a part of it stays in memory
  EXPECT_GT(plan_general(input)->memory_bytes, kGiB / 8 * 7);
  input.input_bytes = 32 * kGigabyte;  // many runs
  EXPECT_GT(plan_general(input)->memory_bytes, kGiB / 8 * 7);
}

// Whatever the threads: they share the memory in which runs are formed.
TEST(GeneralPlan, takes_the_fewest_passes_that_all_workers_can_share) {
  static constexpr std::uint64_t kMemory[] = {64 * kMiB, 256 * kMiB, kGiB,       4 * kGiB,
                                              16 * kGiB, 64 * kGiB,  256 * kGiB, 1024 * kGiB};
  struct Row {
    std::uint64_t input_bytes;
    unsigned passes[std::size(kMemory)];
  };
  constexpr Row kRows[] = {
      {kGigabyte, {1, 1, 1, 0, 0, 0, 0, 0}},
      {10 * kGigabyte, {3, 1, 1, 1, 0, 0, 0, 0}},
      {100 * kGigabyte, {2, 2, 1, 1, 1, 1, 0, 0}},
      {1'000 * kGigabyte, {3, 2, 2, 1, 1, 1, 1, 1}},
      {10'000 * kGigabyte, {3, 2, 2, 2, 1, 1, 1, 1}},
      {100'000 * kGigabyte, {4, 3, 2, 2, 2, 2, 1, 1}},
  };
  for (const Row& row : kRows) {
    for (std::size_t i = 0; i < std::size(kMemory); ++i) {
      for (const unsigned threads : {1u, 2u, 4u, 8u, 12u, 16u, 24u, 32u, 48u, 64u, 96u, 128u}) {
        SCOPED_TRACE(std::to_string(row.input_bytes / kGigabyte) + " GB, " +
                     std::to_string(kMemory[i] / kMiB) + " MiB, threads " +
                     std::to_string(threads));
        GeneralPlanInput input;
        input.memory_bytes = kMemory[i];
        input.input_bytes = row.input_bytes;
        input.threads = threads;
        const GeneralPlanInput best = *with_best_threads(input);
        EXPECT_LE(best.threads, threads);
        EXPECT_GE(best.threads, std::min(threads, 3u));
        const unsigned passes = plan_general(best)->passes;
        // One or two threads save one more here and there.
        EXPECT_LE(passes, row.passes[i]);
        if (threads > 2) {
          EXPECT_EQ(passes, row.passes[i]);
        }
      }
    }
  }
}

// Where tables of runs leave no room for a merge by cells, one worker merges: fewer threads, which
// form longer runs, or one more pass of all of them take less time.
TEST(GeneralPlan, leaves_no_merge_to_one_worker) {
  for (const std::uint64_t parts : {16, 32, 64}) {
    for (const unsigned threads : {4u, 12u, 64u}) {
      GeneralPlanInput input;
      input.input_bytes = 8 * kGigabyte;
      input.memory_bytes = input.input_bytes / parts;
      input.threads = threads;
      SCOPED_TRACE(std::to_string(parts) + ", threads " + std::to_string(threads));
      const GeneralGeometry plan = *plan_general(*with_best_threads(input));
      EXPECT_EQ(plan.merge_cost, 2 * plan.passes);
    }
  }
}

}  // namespace
}  // namespace xxl
