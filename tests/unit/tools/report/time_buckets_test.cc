// Amounts and levels over time in few buckets.
#include "tools/report/time_buckets.h"

#include <gtest/gtest.h>

#include <numeric>

namespace xxl::cli {
namespace {

constexpr std::uint64_t kStart = 5'000'000'000;
constexpr std::uint64_t kWidth = TimeBuckets::kFirstWidth;
const TimeBuckets::Name kName{"disk 254:0", "read"};

double total(const TimeBuckets& buckets) {
  const auto amounts = buckets.amounts(kName);
  return std::accumulate(amounts.begin(), amounts.end(), 0.0);
}

TEST(TimeBuckets, an_amount_is_spread_over_its_time) {
  TimeBuckets buckets(kStart);
  buckets.add(kName, kStart + kWidth / 2, kStart + 2 * kWidth, 30);
  ASSERT_EQ(buckets.count(), 2u);
  EXPECT_NEAR(buckets.amounts(kName)[0], 10, 1e-6);
  EXPECT_NEAR(buckets.amounts(kName)[1], 20, 1e-6);
  EXPECT_NEAR(buckets.sum(kName, kStart, kStart + kWidth), 10, 1e-6);
  EXPECT_NEAR(buckets.sum(kName, kStart + kWidth, kStart + kWidth + kWidth / 2), 10, 1e-6);
}

TEST(TimeBuckets, what_took_no_time_is_somewhere) {
  TimeBuckets buckets(kStart);
  buckets.add(kName, kStart + kWidth, kStart + kWidth, 7);
  EXPECT_NEAR(total(buckets), 7, 1e-6);
}

TEST(TimeBuckets, what_began_before_the_start_counts_from_there) {
  TimeBuckets buckets(kStart);
  buckets.add(kName, kStart - kWidth, kStart + kWidth, 7);
  EXPECT_NEAR(total(buckets), 7, 1e-6);
}

TEST(TimeBuckets, are_bounded_and_lose_nothing_however_long_it_takes) {
  TimeBuckets buckets(kStart);
  constexpr std::uint64_t kSteps = 1000;
  constexpr std::uint64_t kStep = 1'000'000'000;
  for (std::uint64_t i = 0; i < kSteps; ++i) {
    buckets.add(kName, kStart + i * kStep, kStart + (i + 1) * kStep, 3);
    ASSERT_LE(buckets.count(), TimeBuckets::kMost);
  }
  EXPECT_GT(buckets.count(), TimeBuckets::kMost / 2 - 1);
  EXPECT_NEAR(total(buckets), 3.0 * kSteps, 1e-3);
  double seconds = 0;
  for (std::size_t i = 0; i < buckets.count(); ++i) seconds += buckets.seconds(i);
  EXPECT_NEAR(seconds, 1e-9 * kSteps * kStep, 1e-6);
  EXPECT_NEAR(buckets.sum(kName, kStart, kStart + kSteps * kStep / 2), 1.5 * kSteps, 3);
  EXPECT_NEAR(buckets.sum(kName, 0, buckets.end()), 3.0 * kSteps, 1e-3);
}

TEST(TimeBuckets, a_level_is_the_highest_of_its_bucket_and_stays_until_the_next) {
  TimeBuckets buckets(kStart);
  buckets.raise(kName, kStart, 5);
  buckets.raise(kName, kStart + 1, 4);
  buckets.raise(kName, kStart + 3 * kWidth, 1);
  EXPECT_EQ(buckets.levels(kName), (std::vector<double>{5, 5, 5, 1}));
  buckets.extend(kStart + (TimeBuckets::kMost + 1) * kWidth);
  EXPECT_EQ(buckets.width(), 2 * kWidth);
  EXPECT_EQ(buckets.levels(kName)[0], 5);
  EXPECT_EQ(buckets.levels(kName)[1], 1);
  EXPECT_EQ(buckets.levels(kName).back(), 1);
}

TEST(TimeBuckets, what_was_never_named_is_nothing) {
  TimeBuckets buckets(kStart);
  EXPECT_EQ(buckets.count(), 0u);
  buckets.extend(kStart + kWidth);
  EXPECT_EQ(buckets.amounts(kName), std::vector<double>{0});
  EXPECT_EQ(buckets.levels(kName), std::vector<double>{0});
  EXPECT_EQ(buckets.sum(kName, 0, buckets.end()), 0);
}

}  // namespace
}  // namespace xxl::cli
