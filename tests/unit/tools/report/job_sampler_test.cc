// What is seen of a job.
#include "tools/report/job_sampler.h"

#include <gtest/gtest.h>

#include <numeric>

namespace xxl::cli {
namespace {

double total(const JobSampler& sampler, const TimeBuckets::Name& name) {
  const auto amounts = sampler.buckets().amounts(name);
  return std::accumulate(amounts.begin(), amounts.end(), 0.0);
}

TEST(JobSampler, a_track_is_busy_while_at_least_one_interval_lasts) {
  const Progress progress;
  IntervalList list;
  JobSampler sampler(progress, &list);
  const std::uint64_t now = TimeLine::now();
  constexpr std::uint64_t kMs = 1'000'000;
  sampler.add("disk 1:2", "read", now, now + 4 * kMs, 100);
  sampler.add("disk 1:2", "read", now + kMs, now + 5 * kMs, 100);  // 4 of 5 ms counted already
  sampler.add("disk 1:2", "write", now + 5 * kMs, now + 7 * kMs, 50);
  sampler.stop();
  EXPECT_NEAR(total(sampler, {"disk 1:2", "read busy"}), 5e-3, 1e-6);
  EXPECT_NEAR(total(sampler, {"disk 1:2", "write busy"}), 2e-3, 1e-6);
  EXPECT_NEAR(total(sampler, {"disk 1:2", series::kBusy}), 7e-3, 1e-6);
  EXPECT_NEAR(total(sampler, {"disk 1:2", "read"}), 200, 1e-6);
  EXPECT_EQ(list.intervals().size(), 3u);
  sampler.add("disk 1:2", "read", now, now + 100 * kMs, 100);  // it is over
  EXPECT_NEAR(total(sampler, {"disk 1:2", "read"}), 200, 1e-6);
}

TEST(JobSampler, what_counters_have_grown_by_is_seen_at_the_end_at_the_latest) {
  Progress progress;
  JobSampler sampler(progress, nullptr);
  progress.phase_bytes_done = 1000;
  progress.read_wait_ns = 2'000'000;
  progress.scratch_bytes = 77;
  sampler.watch([] { return FileTraffic{.read = 10, .written = 20}; });
  sampler.stop();
  EXPECT_NEAR(total(sampler, series::kSorted), 1000, 1e-6);
  EXPECT_NEAR(total(sampler, series::kReadWait), 2e-3, 1e-9);
  EXPECT_NEAR(total(sampler, {"files", "read"}), 10, 1e-6);
  EXPECT_NEAR(total(sampler, {"files", "write"}), 20, 1e-6);
  EXPECT_EQ(sampler.buckets().levels(series::kScratch).back(), 77);
  EXPECT_GT(sampler.buckets().levels(series::kMemory).back(), 1e6);
}

TEST(JobSampler, phases_are_those_that_progress_showed) {
  Progress progress;
  JobSampler sampler(progress, nullptr);
  progress.phase = Phase::forming_runs;
  sampler.stop();
  ASSERT_EQ(sampler.phases().size(), 1u);
  EXPECT_EQ(sampler.phases()[0].name, "forming runs");
  EXPECT_GE(sampler.phases()[0].seconds, 0);
}

}  // namespace
}  // namespace xxl::cli
