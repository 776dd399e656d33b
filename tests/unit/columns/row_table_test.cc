#include "columns/row_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/units.h"

namespace xxl {
namespace {

void append_count(std::string& to, std::size_t count) {
  const auto bytes = static_cast<RecordCount>(count);
  to.append(reinterpret_cast<const char*>(&bytes), sizeof(bytes));
}

std::string record_of(const std::string& key, const std::string& values) {
  std::string record;
  append_count(record, sizeof(RecordCount) + key.size() + values.size());
  append_count(record, key.size());
  return record + key + values;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

bool is_none(std::string_view key) {
  return key.starts_with("none");
}

std::string values_of(const RowTable& table, std::uint32_t row) {
  const RowParts parts = table.row(row);
  return {reinterpret_cast<const char*>(parts.values), parts.value_bytes};
}

std::vector<std::string> found(const RowTable& table, const std::string& key) {
  std::vector<std::string> values;
  for (std::uint32_t row = table.find(hash_of_key(key), key); row != RowTable::kNone;
       row = table.find_next(row, key)) {
    values.push_back(values_of(table, row));
  }
  return values;
}

TEST(RowTable, finds_the_rows_of_a_key_in_their_order) {
  RowTable table(16 * kMiB);
  std::map<std::string, std::vector<std::string>> expected;
  std::string records;
  for (int i = 0; i < 20000; ++i) {
    const std::string key = "k" + std::to_string(i * 7 % 3001), values = std::to_string(i);
    expected[key].push_back(values);
    records += record_of(key, values);
    if (i % 100 == 99) {
      ASSERT_TRUE(table.add(bytes_of(records)));
      records.clear();
    }
  }
  table.build(is_none);
  EXPECT_EQ(table.rows(), 20000U);
  EXPECT_FALSE(table.is_unique());
  for (const auto& [key, values] : expected) ASSERT_EQ(found(table, key), values) << key;
  EXPECT_TRUE(found(table, "k3001").empty());
  EXPECT_TRUE(found(table, "").empty());
}

TEST(RowTable, rows_that_match_nothing_are_there_and_not_found) {
  RowTable table(16 * kMiB);
  ASSERT_TRUE(
      table.add(bytes_of(record_of("none", "a") + record_of("none", "b") + record_of("", "c"))));
  table.build(is_none);
  EXPECT_EQ(table.rows(), 3U);
  EXPECT_TRUE(table.is_unique());
  EXPECT_TRUE(found(table, "none").empty());
  EXPECT_EQ(found(table, ""), std::vector<std::string>{"c"});
  EXPECT_EQ(values_of(table, 1), "b");
}

TEST(RowTable, an_empty_one_has_nothing) {
  RowTable table(kMiB);
  table.build(is_none);
  EXPECT_EQ(table.rows(), 0U);
  EXPECT_TRUE(found(table, "x").empty());
}

TEST(RowTable, takes_no_more_than_its_memory_and_gives_all_back_in_order) {
  RowTable table(2 * kMiB);
  std::string added;
  for (int i = 0;; ++i) {
    std::string records;
    for (int row = 0; row < 50; ++row) {
      records += record_of(std::to_string(50 * i + row), std::string(row, 'x'));
    }
    if (!table.add(bytes_of(records))) break;
    added += records;
  }
  EXPECT_GT(added.size(), kMiB);
  EXPECT_LT(added.size(), 2 * kMiB);
  EXPECT_FALSE(table.add(bytes_of(record_of("large", std::string(kMiB, 'y')))));
  std::string given;
  table.give_back([&](RowTable::Rows records) {
    given.append(reinterpret_cast<const char*>(records.data()), records.size());
  });
  EXPECT_EQ(given, added);
}

}  // namespace
}  // namespace xxl
