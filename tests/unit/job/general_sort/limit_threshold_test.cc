#include "job/general_sort/limit_threshold.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "merge/merge_source.h"
#include "sort_test_support.h"

namespace xxl {
namespace {

// Records of a chunk: one letter each.
std::vector<StringItem> items_of(const std::string& memory) {
  std::vector<StringItem> items(memory.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i].ref = chunk_place(i, 1);
    if (i > 0 && memory[i] == memory[i - 1]) items[i].ref |= StringItem::kSameKey;
  }
  return items;
}

std::string dropped(const LimitThreshold& threshold, const std::string& memory) {
  std::vector<StringItem> items = items_of(memory);
  std::string left;
  for (const StringItem& item : threshold.drop(items, memory.data(), test::WholeLine())) {
    left += chunk_record(memory.data(), item.place());
  }
  return left;
}

void learn(LimitThreshold& threshold, const std::string& memory, std::uint64_t needed,
           bool by_groups = false) {
  threshold.learn(items_of(memory), memory.data(), test::WholeLine(), needed, by_groups);
}

TEST(LimitThreshold, nothing_is_dropped_before_enough_was_seen) {
  LimitThreshold threshold;
  EXPECT_EQ(dropped(threshold, "zax"), "zax");
  learn(threshold, "abc", 4);
  learn(threshold, "abc", 0);
  EXPECT_EQ(dropped(threshold, "zax"), "zax");
}

TEST(LimitThreshold, what_is_above_the_last_one_needed_is_dropped) {
  LimitThreshold threshold;
  learn(threshold, "cfx", 2);
  EXPECT_EQ(dropped(threshold, "afgzc"), "afc");
  learn(threshold, "gx", 1);  // no lower
  EXPECT_EQ(dropped(threshold, "afgzc"), "afc");
  learn(threshold, "ad", 2);
  EXPECT_EQ(dropped(threshold, "afgzc"), "ac");
}

TEST(LimitThreshold, groups_count_once) {
  LimitThreshold threshold;
  learn(threshold, "aaab", 2, true);
  EXPECT_EQ(dropped(threshold, "cab"), "ab");
  learn(threshold, "aaab", 2, false);
  EXPECT_EQ(dropped(threshold, "cab"), "a");
}

}  // namespace
}  // namespace xxl
