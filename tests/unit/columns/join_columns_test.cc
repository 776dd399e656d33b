#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "columns/arrow_test_support.h"
#include "xxl/columns.h"

namespace xxl {
namespace {

using test::Batches;
using test::Column;
using test::Read;

Batches users() {
  return {
      .batches = {test::table({test::numbers<std::int64_t>("id", "l", {1, 2, std::nullopt, 3, 2}),
                               test::strings("name", {"ann", "bob", "none", "cid", "bea"})})}};
}
Batches orders() {
  return {.batches = {test::table({test::numbers<std::int32_t>("user", "i", {2, 9}),
                                   test::strings("name", {"pen", "cup"})}),
                      test::table({test::numbers<std::int32_t>("user", "i", {1, std::nullopt, 2}),
                                   test::strings("name", {"ink", "hat", std::nullopt})})}};
}

const resources kLittle({.memory_bytes = 16 << 20, .device = Device::cpu});

column_join_options by_id(JoinKind kind) {
  column_join_options options;
  options.left_on = {"id"};
  options.right_on = {"user"};
  options.kind = kind;
  return options;
}

Read joined(Batches left, Batches right, const column_join_options& options,
            const resources& shared = kLittle) {
  ArrowArrayStream from_left, from_right, to;
  left.export_to(&from_left);
  right.export_to(&from_right);
  join_columns(&from_left, &from_right, &to, options, shared);
  EXPECT_EQ(left.released, 1);
  EXPECT_EQ(right.released, 1);
  return test::read_all(&to);
}

std::string error_of(Batches left, Batches right, const column_join_options& options) {
  ArrowArrayStream from_left, from_right, to;
  left.export_to(&from_left);
  right.export_to(&from_right);
  try {
    join_columns(&from_left, &from_right, &to, options, kLittle);
  } catch (const Error& error) {
    EXPECT_EQ(left.released, 1);
    EXPECT_EQ(right.released, 1);
    return error.what();
  }
  to.release(&to);
  return "no error";
}

TEST(JoinColumns, all_kinds) {
  const std::vector<std::string> pairs{"1,ann,ink", "2,bob,pen", "2,bob,-", "2,bea,pen", "2,bea,-"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> rows = pairs;
    rows.insert(rows.end(), more.begin(), more.end());
    return rows;
  };
  EXPECT_EQ(joined(users(), orders(), by_id(JoinKind::inner)).rows, pairs);
  EXPECT_EQ(joined(users(), orders(), by_id(JoinKind::left)).rows, with({"3,cid,-", "-,none,-"}));
  EXPECT_EQ(joined(users(), orders(), by_id(JoinKind::right)).rows, with({"9,-,cup", "-,-,hat"}));
  const auto full = joined(users(), orders(), by_id(JoinKind::full)).rows;
  EXPECT_EQ(full.size(), 9U);
  EXPECT_EQ(joined(users(), orders(), by_id(JoinKind::semi)).rows,
            (std::vector<std::string>{"1,ann", "2,bob", "2,bea"}));
  EXPECT_EQ(joined(users(), orders(), by_id(JoinKind::anti)).rows,
            (std::vector<std::string>{"3,cid", "-,none"}));
}

TEST(JoinColumns, columns_have_the_names_and_types_of_both) {
  const Read read = joined(users(), orders(), by_id(JoinKind::left));
  ASSERT_EQ(read.type.children.size(), 3U);
  EXPECT_EQ(read.type.children[0].name, "id");
  EXPECT_EQ(read.type.children[0].format, "l");  // which holds int32 as well
  EXPECT_EQ(read.type.children[2].name, "name_right");
}

TEST(JoinColumns, strings_of_any_layout_and_dictionaries_match) {
  Batches left{.batches = {test::table({test::dictionary("id", {1, 0}, {"x", "y"}),
                                        test::dictionary("d", {0, 0}, {"left"})})}};
  Batches right{.batches = {test::table({test::strings("user", {"y", "z"}),
                                         test::dictionary("e", {0, 1}, {"first", "second"})})}};
  EXPECT_EQ(joined(left, right, by_id(JoinKind::full)).rows,
            (std::vector<std::string>{"x,left,-", "y,left,first", "z,-,second"}));
}

TEST(JoinColumns, groups_larger_than_memory) {
  std::vector<std::optional<std::int64_t>> keys(30000, 7);
  std::vector<std::optional<std::string>> texts(30000, std::string(400, 'x'));
  Batches left{.batches = {}};
  for (int i = 0; i < 2; ++i) {
    left.batches.push_back(
        test::table({test::numbers<std::int64_t>("id", "l", keys), test::strings("text", texts)}));
  }
  std::vector<std::optional<std::int64_t>> few(3, 7);
  Batches right{.batches = {test::table({test::numbers<std::int64_t>("user", "l", few)})}};
  const Read read = joined(left, right, by_id(JoinKind::inner),
                           resources({.memory_bytes = 80 << 20, .device = Device::cpu}));
  EXPECT_EQ(read.error, 0) << read.message;
  EXPECT_EQ(read.rows.size(), 180000U);
}

TEST(JoinColumns, what_cannot_be_joined_is_refused_by_name) {
  Batches texts{.batches = {test::table({test::strings("user", {"1"})})}};
  EXPECT_EQ(error_of(users(), texts, by_id(JoinKind::inner)),
            "column id of the left table (int64) and user of the right one (string) cannot be "
            "joined: cast one of them to the type of the other");
  column_join_options none = by_id(JoinKind::inner);
  none.right_on.clear();
  EXPECT_NE(error_of(users(), orders(), none).find("there are 1 and 0"), std::string::npos);
}

TEST(JoinColumns, a_failure_of_the_right_table_is_told) {
  Batches right = orders();
  right.error = EIO;
  EXPECT_NE(error_of(users(), right, by_id(JoinKind::inner)).find("the right table failed"),
            std::string::npos);
}

}  // namespace
}  // namespace xxl
