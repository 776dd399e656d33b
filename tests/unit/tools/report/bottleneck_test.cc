// Where a phase was bound, and what would help.
#include "tools/report/bottleneck.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace xxl::cli {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kJobStart = 100 * kSecond;

// Ten seconds on two processors, from which each test makes a story.
class Bottleneck : public testing::Test {
 protected:
  Bottleneck() {
    given_.threads = given_.processors = 2;
    given_.memory_bytes = kGiB;
    given_.machine_bytes = 64 * kGiB;
    given_.knows_temp_compress = true;
    given_.scratch_track = "disk 8:0";
    given_.file_tracks = {"disk 8:0"};
  }
  void cores(double busy, double others = 0) {
    add({"processors", "user"}, 10 * busy);
    if (others > 0) add(series::kOthers, 10 * others);
  }
  void busy(const char* track, const char* what, double part) {
    for (const std::string& name : {std::string(series::kBusy), what + std::string(" busy")}) {
      buckets_.add({track, name}, kJobStart, kJobStart + 10 * kSecond, 10 * part);
    }
    add({track, what}, 1e9);
  }
  void add(const TimeBuckets::Name& name, double amount) {
    buckets_.add(name, kJobStart, kJobStart + 10 * kSecond, amount);
  }
  void scratch(double bytes) { buckets_.raise(series::kScratch, kJobStart, bytes); }
  PhaseUse judged(const char* name = "form runs") {
    PhaseReport phase;
    phase.name = name;
    phase.start = std::chrono::steady_clock::time_point(std::chrono::nanoseconds(kJobStart));
    phase.seconds = 10;
    return judge_phases({phase}, buckets_, given_).front();
  }
  static bool helps(const PhaseUse& use, const char* word) {
    return std::any_of(use.helps.begin(), use.helps.end(),
                       [&](const std::string& help) { return help.find(word) != help.npos; });
  }

  TimeBuckets buckets_{kJobStart};
  JobMeansGiven given_;
};

TEST_F(Bottleneck, busy_processors) {
  cores(1.9);
  busy("disk 8:0", "read", 1);  // which there always is something to read from ahead
  const PhaseUse use = judged();
  EXPECT_EQ(use.bound, Bound::processors);
  EXPECT_NEAR(use.cores, 1.9, 1e-6);
  given_.processors = 16;
  EXPECT_TRUE(helps(judged(), "--parallel=16"));
  EXPECT_TRUE(helps(judged(), "2 threads were used"));
  given_.threads = 1;
  EXPECT_TRUE(helps(judged(), "1 thread was used"));
}

TEST_F(Bottleneck, processors_that_others_use_too) {
  cores(0.9, 1.1);
  busy("disk 8:0", "read", 0.5);
  const PhaseUse use = judged();
  EXPECT_EQ(use.bound, Bound::processors);
  EXPECT_NE(use.bound_by.find("shared"), std::string::npos);
  EXPECT_TRUE(helps(use, "other programs"));
}

TEST_F(Bottleneck, a_disk_that_scratch_shares_with_files) {
  cores(0.5);
  busy("disk 8:0", "read", 0.7);
  busy("disk 8:0", "write", 0.95);
  scratch(1e9);
  const PhaseUse use = judged();
  EXPECT_EQ(use.bound, Bound::disk_write);
  EXPECT_TRUE(helps(use, "-T"));
  EXPECT_TRUE(helps(use, "--temp-compress"));
  EXPECT_FALSE(helps(use, "-S"));  // nothing is known of the input
  given_.sorted_bytes = 8 * kGiB;
  EXPECT_TRUE(helps(judged(), "-S 9217M"));
  given_.sorted_bytes = 80 * kGiB;  // more than the machine has
  EXPECT_FALSE(helps(judged(), "-S"));
  given_.passes = 2;
  EXPECT_TRUE(helps(judged(), "larger -S"));
}

TEST_F(Bottleneck, a_disk_without_scratch) {
  cores(0.5);
  busy("disk 8:0", "read", 0.9);
  const PhaseUse use = judged();
  EXPECT_EQ(use.bound, Bound::disk_read);
  EXPECT_TRUE(helps(use, "faster disk"));
}

TEST_F(Bottleneck, a_gpu) {
  cores(0.5);
  add({"GPU 0 sort in", series::kBusy}, 9.5);
  busy("disk 8:0", "read", 0.5);
  EXPECT_EQ(judged().bound, Bound::gpu);
}

TEST_F(Bottleneck, a_pipe) {
  cores(0.2);
  busy("pipe", "read", 0.9);
  EXPECT_EQ(judged().bound, Bound::pipe_in);
  busy("pipe", "write", 0.95);
  EXPECT_EQ(judged().bound, Bound::pipe_out);
}

TEST_F(Bottleneck, waits_where_disks_are_not_seen) {
  cores(0.2);
  add(series::kReadWait, 8);
  EXPECT_EQ(judged().bound, Bound::disk_read);
}

TEST_F(Bottleneck, one_thread_and_nothing) {
  cores(1);
  EXPECT_EQ(judged().bound, Bound::one_thread);
  given_.threads = given_.processors = 16;
  cores(4);
  EXPECT_EQ(judged().bound, Bound::nothing);
}

TEST_F(Bottleneck, the_end_is_the_disks_of_the_output) {
  cores(0);
  EXPECT_EQ(judged("finish").bound, Bound::disk_write);
}

}  // namespace
}  // namespace xxl::cli
