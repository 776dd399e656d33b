#include "columns/cluster_columns.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "cluster/cluster_general.h"
#include "cluster/thread_peers.h"
#include "columns/arrow_test_support.h"
#include "columns/shared_dictionaries.h"

namespace xxl {
namespace {

using test::Batches;
using test::Column;
using test::Read;

resources little_of_rank() {
  return resources({.memory_bytes = 8 << 20, .threads = 1, .device = Device::cpu});
}

// What each of `shares` ranks gives, whose shares are some batches each.
std::vector<Read> sorted_by_ranks(std::vector<Batches> shares, const column_sort_options& options,
                                  bool one_machine) {
  std::vector<Read> parts(shares.size());
  test::run_ranks(static_cast<unsigned>(shares.size()), one_machine, [&](Peers& peers) {
    ClusterGeneral cluster(peers);
    SortReport report;
    ArrowArrayStream in, out;
    shares[peers.rank()].export_to(&in);
    cluster_sort_columns(&in, &out, options, little_of_rank(), cluster, peers, report);
    EXPECT_EQ(shares[peers.rank()].released, 1);
    parts[peers.rank()] = test::read_all(&out);
    EXPECT_EQ(report.records_out, parts[peers.rank()].rows.size());
  });
  return parts;
}

std::vector<Read> joined_by_ranks(std::vector<Batches> left, std::vector<Batches> right,
                                  const column_join_options& options, bool one_machine) {
  std::vector<Read> parts(left.size());
  test::run_ranks(static_cast<unsigned>(left.size()), one_machine, [&](Peers& peers) {
    ClusterGeneral cluster(peers);
    SortReport report;
    ArrowArrayStream in[2], out;
    left[peers.rank()].export_to(&in[0]);
    right[peers.rank()].export_to(&in[1]);
    cluster_join_columns(&in[0], &in[1], &out, options, little_of_rank(), cluster, peers, report);
    parts[peers.rank()] = test::read_all(&out);
    EXPECT_EQ(report.records_out, parts[peers.rank()].rows.size());
  });
  return parts;
}

// The shares one after the other.
Batches all_of(const std::vector<Batches>& shares) {
  Batches all;
  for (const Batches& share : shares) {
    all.batches.insert(all.batches.end(), share.batches.begin(), share.batches.end());
  }
  return all;
}

Read sorted_alone(const std::vector<Batches>& shares, const column_sort_options& options) {
  Batches all = all_of(shares);
  ArrowArrayStream in, out;
  all.export_to(&in);
  sort_columns(&in, &out, options, little_of_rank());
  return test::read_all(&out);
}

Read joined_alone(const std::vector<Batches>& left, const std::vector<Batches>& right,
                  const column_join_options& options) {
  Batches all[2] = {all_of(left), all_of(right)};
  ArrowArrayStream in[2], out;
  all[0].export_to(&in[0]);
  all[1].export_to(&in[1]);
  join_columns(&in[0], &in[1], &out, options, little_of_rank());
  return test::read_all(&out);
}

Column random_batch(Random& random, std::size_t rows) {
  std::vector<std::optional<std::int64_t>> keys;
  std::vector<std::optional<std::string>> texts;
  std::vector<std::optional<std::int8_t>> cities;
  std::vector<std::optional<std::string>> names;
  for (int i = 0; i < 100; ++i) names.push_back("city " + std::to_string(random.below(1000)));
  for (std::size_t row = 0; row < rows; ++row) {
    keys.emplace_back(random.below(500));
    if (random.below(10) == 0) keys.back().reset();
    texts.emplace_back(std::string(random.below(100), 'x') + std::to_string(row));
    cities.emplace_back(static_cast<std::int8_t>(random.below(100)));
    if (random.below(10) == 0) cities.back().reset();
  }
  return test::table({test::numbers<std::int64_t>("a", "l", keys), test::strings("text", texts),
                      test::dictionary("city", cities, names)});
}

// Some batches, of at most `rows` rows each.
Batches random_share(Random& random, std::size_t rows) {
  Batches share;
  share.batches.push_back(random_batch(random, 0));  // there is a schema in any case
  for (auto more = random.below(12); more > 0; --more) {
    share.batches.push_back(random_batch(random, random.below(rows)));
  }
  return share;
}

// `column`: a dictionary.
void expect_rows(const std::vector<Read>& parts, const Read& alone, std::size_t column) {
  std::vector<std::string> rows;
  for (const Read& part : parts) {
    EXPECT_EQ(part.error, 0) << part.message;
    EXPECT_EQ(part.type.children[column].format, alone.type.children[column].format);
    rows.insert(rows.end(), part.rows.begin(), part.rows.end());
  }
  EXPECT_EQ(rows, alone.rows);
}

TEST(ClusterColumns, ranks_give_the_rows_of_one_process) {
  for (unsigned variant = 0; variant < 8; ++variant) {
    SCOPED_TRACE(variant);
    Random random(variant);
    const unsigned ranks = 1 + variant % 4;
    std::vector<Batches> shares;
    while (shares.size() < ranks) shares.push_back(random_share(random, 4000));
    column_sort_options options{.by = {{.column = "a", .descending = variant % 3 == 0}}};
    if (variant % 3 == 1) options.by.insert(options.by.begin(), {.column = "city"});
    options.unique = variant == 5;
    if (variant >= 6) options.skip = 1000;
    if (variant == 7) options.limit = 5000;
    expect_rows(sorted_by_ranks(shares, options, variant % 2 == 0), sorted_alone(shares, options),
                2);
  }
}

TEST(ClusterColumns, ranks_join_as_one_process_does) {
  for (unsigned variant = 0; variant < 12; ++variant) {
    SCOPED_TRACE(variant);
    Random random(variant);
    const unsigned ranks = 1 + variant % 4;
    std::vector<Batches> left, right;
    while (left.size() < ranks) left.push_back(random_share(random, 300));
    while (right.size() < ranks) right.push_back(random_share(random, variant == 7 ? 1 : 300));
    column_join_options options{.left_on = {"a", "city"}, .right_on = {"a", "city"}};
    // Dictionaries of both sides, and none.
    if (variant % 3 == 1) options = {.left_on = {"a"}, .right_on = {"a"}};
    constexpr JoinKind kKinds[] = {JoinKind::inner, JoinKind::left, JoinKind::right,
                                   JoinKind::full,  JoinKind::semi, JoinKind::anti};
    options.how = kKinds[variant % 6];
    options.method = JoinMethod::sort_merge;
    expect_rows(joined_by_ranks(left, right, options, variant % 2 == 0),
                joined_alone(left, right, options), 2);
  }
}

TEST(SharedDictionaries, have_the_values_in_the_order_of_ranks) {
  ColumnType column;
  column.layout = Layout::dictionary;
  ColumnType table;
  table.children = {column};
  const std::vector<std::vector<std::string>> given = {{"b", "a"}, {}, {"c", "b", "d"}};
  test::run_ranks(3, true, [&](Peers& peers) {
    DictionaryTables own = dictionary_tables(table, 10'000, {peers.rank(), peers.ranks()});
    std::vector<std::uint32_t> numbers;
    for (const std::string& value : given[peers.rank()]) {
      numbers.push_back(own.front().number_of(value));
    }
    if (peers.rank() == 2) {
      EXPECT_EQ(numbers, (std::vector<std::uint32_t>{2, 5, 8}));
    }
    const SharedDictionaries shared = share_dictionaries(table, std::move(own), 10'000, &peers);
    EXPECT_EQ(shared.tables.front().values(), (std::vector<std::string_view>{"b", "a", "c", "d"}));
    EXPECT_EQ(shared.places.front(),
              (std::vector<std::vector<std::uint32_t>>{{0, 1}, {}, {2, 0, 3}}));
  });
}

TEST(SharedDictionaries, that_are_ordered_must_have_one_order) {
  ColumnType column;
  column.layout = Layout::dictionary;
  column.key = KeyKind::place;
  column.values.emplace_back();
  ColumnType table;
  table.children = {column};
  const auto shared_values = [&](const std::vector<std::vector<std::string>>& given) {
    test::run_ranks(2, true, [&](Peers& peers) {
      DictionaryTables own = dictionary_tables(table, 10'000, {peers.rank(), peers.ranks()});
      for (const std::string& value : given[peers.rank()]) own.front().number_of(value);
      const SharedDictionaries shared = share_dictionaries(table, std::move(own), 10'000, &peers);
      EXPECT_EQ(shared.tables.front().values(), (std::vector<std::string_view>{"b", "a", "c"}));
    });
  };
  shared_values({{"b", "a"}, {"b", "a", "c"}});
  shared_values({{"b", "a", "c"}, {}});
  EXPECT_THROW(shared_values({{"b", "a", "c"}, {"a", "b"}}), Error);
  EXPECT_THROW(shared_values({{"b", "c"}, {"b", "a", "c"}}), Error);
}

TEST(SharedDictionaries, of_all_ranks_must_fit) {
  ColumnType column;
  column.name = "d";
  column.layout = Layout::dictionary;
  ColumnType table;
  table.children = {column};
  EXPECT_THROW(test::run_ranks(2, true,
                               [&](Peers& peers) {
                                 const unsigned rank = peers.rank();
                                 auto own = dictionary_tables(table, 150, {rank, peers.ranks()});
                                 own.front().number_of(std::to_string(rank));
                                 share_dictionaries(table, std::move(own), 150, &peers);
                               }),
               Error);
}

}  // namespace
}  // namespace xxl
