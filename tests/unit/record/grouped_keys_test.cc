// Keys of records that are sorted within groups, and where groups begin.
#include "record/grouped_keys.h"
#include "record/csv_spec.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "record/csv_keys.h"
#include "record/group_selection.h"

namespace xxl {
namespace {

std::shared_ptr<const CsvKeys> keys_of(const char* spec) {
  CsvOrder order;
  order.keys = {parse_csv_key(spec)};
  return make_csv_keys(order);
}

std::string key_of(const KeyExtractor& keys, std::string_view row) {
  std::string key;
  keys.append_key(row, KeyExtractor::kWholeKey, key);
  return key;
}

TEST(GroupedKeys, AreInTheOrderOfGroupsAndThenWithin) {
  const GroupedKeys keys(keys_of("1"), keys_of("2:number:desc"));
  const std::vector<std::string> rows = {
      ",7", ",", "a,10", "a,9", "a,", "ab,", "b,1e99", "b,0.5", std::string("b\0,1", 4)};
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (i == 1 || i == 4) continue;  // empty values come first
    EXPECT_LT(key_of(keys, rows[i - 1]), key_of(keys, rows[i])) << rows[i];
  }
  for (const std::string& row : rows) {
    const std::string whole = key_of(keys, row);
    for (std::size_t limit = 0; limit <= whole.size(); ++limit) {
      std::string key;
      keys.append_key(row, limit, key);
      EXPECT_GE(key.size(), limit);
      EXPECT_EQ(key.substr(0, limit), whole.substr(0, limit));
    }
  }
}

TEST(GroupedKeys, BeginWithTheLeastKeyOfTheGroup) {
  const GroupedKeys keys(keys_of("1"), keys_of("2"));
  const std::string of_a = key_of(keys, "a,x");
  EXPECT_EQ(GroupedKeys::least_of_group(of_a), GroupedKeys::least_of_group(key_of(keys, "a,")));
  EXPECT_LE(GroupedKeys::least_of_group(of_a), key_of(keys, "a,"));
  EXPECT_GT(GroupedKeys::least_of_group(of_a), key_of(keys, ",z"));
  EXPECT_EQ(GroupedKeys::least_of_group("a"), "a") << "cut within that of the group";
}

TEST(GroupedKeys, TellGroupsApart) {
  const GroupedKeys keys(keys_of("1"), keys_of("2"));
  GroupSelection selection(GroupRule::first, keys.keys_of_groups());
  EXPECT_TRUE(selection.keeps("a,1", false));
  EXPECT_FALSE(selection.keeps("a,1", true));
  EXPECT_FALSE(selection.keeps("a,2", false));
  EXPECT_TRUE(selection.keeps("b,1", false));
  EXPECT_TRUE(selection.keeps("c,1", false));
  EXPECT_FALSE(selection.keeps("c,2", false));
}

}  // namespace
}  // namespace xxl
