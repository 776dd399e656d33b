#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <functional>
#include <stop_token>
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
  options.how = kind;
  options.method = JoinMethod::sort_merge;
  return options;
}
column_join_options by_hash(JoinKind kind) {
  column_join_options options = by_id(kind);
  options.method = JoinMethod::automatic;
  return options;
}

std::vector<std::string> sorted(std::vector<std::string> rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

Read joined(Batches left, Batches right, const column_join_options& options,
            const resources& shared = kLittle) {
  ArrowArrayStream from_left, from_right, to;
  left.export_to(&from_left);
  right.export_to(&from_right);
  JoinMethod method = JoinMethod::automatic;
  column_join_options told = options;
  told.used_method = &method;
  join_columns(&from_left, &from_right, &to, told, shared);
  EXPECT_EQ(left.released, method == JoinMethod::hash ? 0 : 1);
  EXPECT_EQ(right.released, 1);
  Read read = test::read_all(&to);
  EXPECT_EQ(left.released, 1);
  return read;
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

TEST(JoinColumns, a_table_in_memory_gives_the_same_rows) {
  for (const JoinKind kind : {JoinKind::inner, JoinKind::left, JoinKind::right, JoinKind::full,
                              JoinKind::semi, JoinKind::anti}) {
    const Read merged = joined(users(), orders(), by_id(kind));
    const Read probed = joined(users(), orders(), by_hash(kind));
    EXPECT_EQ(sorted(probed.rows), sorted(merged.rows)) << static_cast<int>(kind);
  }
  EXPECT_EQ(joined(users(), orders(), by_hash(JoinKind::full)).rows,
            (std::vector<std::string>{"1,ann,ink", "2,bob,pen", "2,bob,-", "-,none,-", "3,cid,-",
                                      "2,bea,pen", "2,bea,-", "9,-,cup", "-,-,hat"}));
}

// Of tables with many rows of few keys, some of which only one side has.
Batches many(const std::string& key, std::int64_t rows, std::int64_t modulus, std::size_t bytes) {
  Batches table{.batches = {}};
  for (std::int64_t row = 0; row < rows;) {
    std::vector<std::optional<std::int64_t>> keys;
    std::vector<std::optional<std::string>> texts;
    for (; row < rows && keys.size() < 1500; ++row) {
      keys.push_back(row % 11 == 0 ? std::nullopt : std::optional(row * row % modulus));
      texts.push_back(std::to_string(row) + std::string(bytes, 'x'));
    }
    table.batches.push_back(
        test::table({test::numbers<std::int64_t>(key, "l", keys), test::strings("text", texts)}));
  }
  return table;
}

TEST(JoinColumns, a_right_table_that_does_not_fit_is_sorted) {
  const Batches left = many("id", 3000, 7919, 10), right = many("user", 20000, 6007, 600);
  for (const JoinKind kind : {JoinKind::inner, JoinKind::full, JoinKind::anti}) {
    JoinMethod method = JoinMethod::automatic;
    column_join_options options = by_hash(kind);
    options.used_method = &method;
    Batches from = left, with = right;
    ArrowArrayStream from_left, from_right, to;
    from.export_to(&from_left);
    with.export_to(&from_right);
    join_columns(&from_left, &from_right, &to, options, kLittle);
    EXPECT_EQ(method, JoinMethod::sort_merge);
    const Read read = test::read_all(&to);
    EXPECT_EQ(read.error, 0) << read.message;
    const Read expected = joined(left, right, by_hash(kind),
                                 resources({.memory_bytes = 200 << 20, .device = Device::cpu}));
    EXPECT_EQ(sorted(read.rows), sorted(expected.rows));
    EXPECT_GT(read.rows.size(), 1000U);
  }
}

TEST(JoinColumns, rows_that_pass_keep_their_columns) {
  // A struct, booleans at odd places, and slices with offsets.
  Batches left{.batches = {}};
  for (std::int64_t batch = 0; batch < 3; ++batch) {
    std::vector<std::optional<std::int64_t>> keys;
    std::vector<std::optional<std::string>> texts;
    for (std::int64_t row = 0; row < 2000; ++row) {
      keys.push_back(row % 7 == 3 ? std::nullopt : std::optional(row));
      texts.push_back(std::to_string(batch) + "/" + std::to_string(row));
    }
    Column table =
        test::table({test::numbers<std::int64_t>("id", "l", keys), test::strings("text", texts)});
    table.offset = 3 * batch;
    table.length -= table.offset;
    left.batches.push_back(table);
  }
  std::vector<std::optional<std::int64_t>> users;
  std::vector<std::optional<std::string>> names;
  for (std::int64_t user = 0; user < 1990; ++user) {
    users.push_back(user);
    names.push_back("u" + std::to_string(user));
  }
  Batches right{.batches = {test::table({test::numbers<std::int64_t>("user", "l", users),
                                         test::strings("name", names)})}};
  for (const JoinKind kind : {JoinKind::left, JoinKind::inner}) {
    for (const std::uint64_t batch_rows : {std::uint64_t{700}, std::uint64_t{1} << 16}) {
      column_join_options options = by_hash(kind);
      options.batch_rows = batch_rows;
      const Read probed = joined(left, right, options);
      EXPECT_EQ(probed.error, 0) << probed.message;
      EXPECT_EQ(sorted(probed.rows), sorted(joined(left, right, by_id(kind)).rows));
    }
  }
}

TEST(JoinColumns, zeros_are_one_key_in_all_ways_to_join) {
  Batches left{.batches = {test::table({test::numbers<double>("id", "g", {-0.0, 1.0})})}};
  Batches right{.batches = {test::table({test::numbers<double>("user", "g", {0.0, 1.0})})}};
  EXPECT_EQ(joined(left, right, by_hash(JoinKind::left)).rows,
            joined(left, right, by_id(JoinKind::left)).rows);
}

TEST(JoinColumns, large_values_that_many_rows_get_make_small_batches) {
  std::vector<std::optional<std::int64_t>> keys;
  for (std::int64_t row = 0; row < 60; ++row) keys.push_back(row % 2);
  Batches left{.batches = {test::table({test::numbers<std::int64_t>("id", "l", keys)})}};
  const std::vector<std::optional<std::string>> texts(2, std::string(300'000, 'x'));
  for (const bool twice : {false, true}) {  // rows pass, or not
    std::vector<std::optional<std::int64_t>> users{0, 1};
    auto values = texts;
    if (twice) {
      users.push_back(0);
      values.emplace_back("y");
    }
    Batches right{.batches = {test::table({test::numbers<std::int64_t>("user", "l", users),
                                           test::strings("text", values)})}};
    for (const JoinKind kind : {JoinKind::left, JoinKind::full}) {
      Batches from = left, with = right;
      ArrowArrayStream from_left, from_right, to;
      from.export_to(&from_left);
      with.export_to(&from_right);
      join_columns(&from_left, &from_right, &to, by_hash(kind),
                   resources({.memory_bytes = 64 << 20, .device = Device::cpu}));
      std::int64_t rows = 0;
      for (ArrowArray batch{};; batch.release(&batch)) {
        ASSERT_EQ(to.get_next(&to, &batch), 0);
        if (batch.release == nullptr) break;
        EXPECT_LE(batch.length, 6);
        rows += batch.length;
      }
      to.release(&to);
      EXPECT_EQ(rows, twice ? 90 : 60);
    }
  }
}

TEST(JoinColumns, a_stream_that_failed_stays_failed) {
  Batches left = many("id", 4000, 7919, 10);
  left.error = EIO;
  ArrowArrayStream from_left, from_right, to;
  Batches right = orders();
  left.export_to(&from_left);
  right.export_to(&from_right);
  join_columns(&from_left, &from_right, &to, by_hash(JoinKind::inner), kLittle);
  int failures = 0;
  for (int i = 0; i < 5; ++i) {
    ArrowArray batch{};
    failures += to.get_next(&to, &batch) != 0 ? 1 : 0;
    if (batch.release != nullptr) batch.release(&batch);
    EXPECT_TRUE(failures == 0 || batch.release == nullptr);
  }
  EXPECT_GE(failures, 4);
  EXPECT_NE(std::string(to.get_last_error(&to)).find("the left table failed"), std::string::npos);
  to.release(&to);
}

TEST(JoinColumns, a_gpu_that_is_asked_for_is_refused) {
  for (const column_join_options& options : {by_id(JoinKind::inner), by_hash(JoinKind::inner)}) {
    Batches left = users(), right = orders();
    ArrowArrayStream from_left, from_right, to;
    left.export_to(&from_left);
    right.export_to(&from_right);
    try {
      join_columns(&from_left, &from_right, &to, options,
                   resources({.memory_bytes = 64 << 20, .device = Device::gpu}));
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::device);
    }
    EXPECT_EQ(left.released, 1);
  }
}

TEST(JoinColumns, stops_when_it_is_asked_to) {
  std::stop_source stop;
  const resources shared(
      {.memory_bytes = 64 << 20, .users = 2, .stop = stop.get_token(), .device = Device::cpu});
  std::deque<Batches> tables;  // a stream reads the left one until it is released
  const auto begin = [&](const std::function<void()>& on_batch, ArrowArrayStream* to) {
    Batches& left = tables.emplace_back(many("id", 10000, 7919, 10));
    Batches& right = tables.emplace_back(many("user", 10000, 6007, 10));
    ArrowArrayStream from_left, from_right;
    left.export_to(&from_left);
    right.export_to(&from_right);
    column_join_options options = by_hash(JoinKind::inner);
    options.on_batch = [&](std::uint64_t) { on_batch(); };
    join_columns(&from_left, &from_right, to, options, shared);
  };
  ArrowArrayStream to;
  begin([] {}, &to);
  int batches = 0;
  EXPECT_THROW(begin(
                   [&] {
                     ++batches;
                     stop.request_stop();
                   },
                   nullptr),
               Error);
  EXPECT_EQ(batches, 1);  // of the right table
  ArrowArray batch{};
  EXPECT_EQ(to.get_next(&to, &batch), ECANCELED);
  to.release(&to);
}

TEST(JoinColumns, a_failure_of_the_left_table_is_told_by_the_result) {
  Batches left = users();
  left.error = EIO;
  const Read read = joined(left, orders(), by_hash(JoinKind::inner));
  EXPECT_NE(read.error, 0);
  EXPECT_NE(read.message.find("the left table failed"), std::string::npos) << read.message;
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
  for (const column_join_options& options : {by_id(JoinKind::inner), by_hash(JoinKind::inner)}) {
    const Read read =
        joined(left, right, options, resources({.memory_bytes = 80 << 20, .device = Device::cpu}));
    EXPECT_EQ(read.error, 0) << read.message;
    EXPECT_EQ(read.rows.size(), 180000U);
  }
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
