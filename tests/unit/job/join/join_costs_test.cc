#include "job/join/join_costs.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "base/units.h"
#include "sort_test_support.h"

namespace xxl {
namespace {

using test::format_of;

// A join of 24 million records with ten times as many, 8 bytes each, with a table of R.
struct Plans {
  explicit Plans(unsigned threads) {
    options.formats = {format_of("kv32"), format_of("kv32")};
    options.queue_factory = [] { return nullptr; };  // no disk is measured
    for (JoinPlan* plan : {&sort_merge, &hash}) {
      plan->sides[0].input_bytes = 195'000'000;
      plan->sides[1].input_bytes = 1'950'000'000;
      plan->output_bytes = 12;
      plan->threads = threads;
    }
    for (auto& side : sort_merge.sides) side.scratch_bytes = side.input_bytes;
    hash.table_bytes = 430'000'000;
  }
  JoinCosts costs() const { return estimate_costs(options, sort_merge, hash); }

  FixedJoinOptions options;
  JoinPlan sort_merge, hash;
};

TEST(JoinCosts, few_processors_take_about_as_long_to_probe_as_to_sort) {
  const JoinCosts costs = Plans(1).costs();
  EXPECT_GT(costs.sort_merge, 0.8 * costs.hash);
  EXPECT_LT(costs.sort_merge, 1.2 * costs.hash);
}

TEST(JoinCosts, with_many_processors_the_disk_decides) {
  const JoinCosts costs = Plans(16).costs();
  EXPECT_LT(costs.hash, 0.6 * costs.sort_merge);
  // 2.1 GB are read once, and 244 million rows of 12 bytes written.
  EXPECT_NEAR(costs.hash, 5.07e9 / costs.disk_rate, 0.1);
}

TEST(JoinCosts, a_table_in_cache_is_probed_sooner) {
  Plans plans(1);
  const double large = plans.costs().hash;
  plans.hash.sides[0].input_bytes = 195'000;
  plans.hash.table_bytes = 430'000;
  EXPECT_LT(plans.costs().hash, 0.7 * large);
}

TEST(JoinCosts, each_pass_of_sorting_costs) {
  Plans plans(1);
  const double one = plans.costs().sort_merge;
  for (auto& side : plans.sort_merge.sides) side.passes = 1;
  EXPECT_GT(plans.costs().sort_merge, 1.5 * one);
  for (auto& side : plans.sort_merge.sides) side.presorted = true;
  EXPECT_LT(plans.costs().sort_merge, one);
}

TEST(JoinCosts, a_join_that_counts_writes_nothing) {
  Plans plans(16);
  const double rows = plans.costs().hash;
  plans.options.count_only = true;
  EXPECT_LT(plans.costs().hash, rows / 2);
}

TEST(JoinCosts, disks_are_measured_where_that_is_possible) {
  Plans plans(16);
  EXPECT_EQ(plans.costs().disk_rate, kAssumedDiskRate);
  plans.options.queue_factory = nullptr;
  plans.options.scratch_dirs = {"/nonexistent"};
  EXPECT_EQ(plans.costs().disk_rate, kAssumedDiskRate);
  plans.options.scratch_dirs = {::testing::TempDir()};
  const double rate = plans.costs().disk_rate;
  EXPECT_GT(rate, 0);
  EXPECT_NE(rate, kAssumedDiskRate);
}

}  // namespace
}  // namespace xxl
