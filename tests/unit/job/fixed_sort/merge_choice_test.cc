#include "job/fixed_sort/merge_choice.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace xxl {
namespace {

// A merge that the accelerator should take over: 4 GB/s on busy processors, 100 GiB to go.
MergeStretch busy_stretch() {
  return {.seconds = 1,
          .wait_seconds = 0.02,
          .busy_seconds = 15.5,
          .workers = 16,
          .bytes = 4'000'000'000,
          .bytes_left = 100 * kGiB};
}

MergeLink fast_link() {
  return {.rate = 25e9, .piece_bytes = 4 * kMiB};
}

TEST(MergeChoice, busy_processors_and_a_faster_link_hand_over) {
  EXPECT_TRUE(accelerator_pays_in_merge(busy_stretch(), fast_link()));
}

TEST(MergeChoice, not_if_the_merge_waits_for_disks) {
  MergeStretch stretch = busy_stretch();
  stretch.wait_seconds = 0.4;
  EXPECT_FALSE(accelerator_pays_in_merge(stretch, fast_link()));
}

TEST(MergeChoice, not_if_workers_are_idle_all_the_same) {
  MergeStretch stretch = busy_stretch();
  stretch.busy_seconds = 8;
  EXPECT_FALSE(accelerator_pays_in_merge(stretch, fast_link()));
}

TEST(MergeChoice, not_if_the_link_carries_hardly_more_than_processors_merge) {
  MergeLink link = fast_link();
  link.rate = 4.5e9;
  EXPECT_FALSE(accelerator_pays_in_merge(busy_stretch(), link));
  link.rate = 0;
  EXPECT_FALSE(accelerator_pays_in_merge(busy_stretch(), link));
}

TEST(MergeChoice, not_in_small_pieces) {
  MergeLink link = fast_link();
  link.piece_bytes = 256 * kKiB;
  EXPECT_FALSE(accelerator_pays_in_merge(busy_stretch(), link));
}

TEST(MergeChoice, not_for_the_last_bit) {
  MergeStretch stretch = busy_stretch();
  stretch.bytes_left = 100 * kMiB;
  EXPECT_FALSE(accelerator_pays_in_merge(stretch, fast_link()));
}

TEST(MergeChoice, nothing_is_chosen_by_nothing) {
  EXPECT_FALSE(accelerator_pays_in_merge({}, fast_link()));
  EXPECT_FALSE(accelerator_pays_in_merge(busy_stretch(), {}));
}

TEST(MergeStretches, the_start_is_in_none) {
  MergeStretches stretches({.seconds = 100, .wait_seconds = 7, .busy_seconds = 50, .bytes = 500},
                           2000, 4);
  MergeStretch stretch;
  EXPECT_FALSE(stretches.ends({101, 8, 51, 550}, stretch));
  EXPECT_FALSE(stretches.ends({102, 8.5, 52, 600}, stretch)) << "the start";
  EXPECT_FALSE(stretches.ends({103, 8.5, 55, 650}, stretch)) << "half a stretch";
  ASSERT_TRUE(stretches.ends({104, 9, 58, 700}, stretch));
  EXPECT_DOUBLE_EQ(stretch.seconds, 2);
  EXPECT_DOUBLE_EQ(stretch.wait_seconds, 0.5);
  EXPECT_DOUBLE_EQ(stretch.busy_seconds, 6);
  EXPECT_EQ(stretch.workers, 4u);
  EXPECT_EQ(stretch.bytes, 100u);
  EXPECT_EQ(stretch.bytes_left, 1800u);
}

TEST(MergeStretches, those_that_are_too_short_to_say_anything_grow) {
  MergeStretches stretches({}, 1000, 1);
  MergeStretch stretch;
  EXPECT_FALSE(stretches.ends({0.001, 0, 0, 50}, stretch));
  EXPECT_FALSE(stretches.ends({0.002, 0, 0, 200}, stretch));
  ASSERT_TRUE(stretches.ends({0.2, 0, 0, 400}, stretch));
  EXPECT_EQ(stretch.bytes, 350u);
  EXPECT_EQ(stretch.bytes_left, 600u);
}

}  // namespace
}  // namespace xxl
