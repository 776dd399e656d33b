// What makes sorters short to write: deduced types, orders of many kinds, groups, ranges.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <list>
#include <ranges>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/random.h"
#include "callers/sorter_test_support.h"
#include "xxl/array.h"
#include "xxl/sort_range.h"
#include "xxl/sorter.h"

namespace xxl {
namespace {

using test::kLittleMemory;
using test::pull_all;
using test::read_all;
using test::with_memory;

struct Edge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  float weight = 0;
  char name[4] = {};

  std::uint32_t sum() const { return from + to; }
  std::string_view text() const noexcept { return {name, 4}; }
  friend bool operator==(const Edge& a, const Edge& b) { return a.from == b.from; }
};

std::vector<Edge> random_edges(std::uint32_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<Edge> edges(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    edges[i].from = i;
    edges[i].to = static_cast<std::uint32_t>(random.below(300));
    edges[i].weight = static_cast<float>(random.below(40)) / 8 - 2;
    for (char& letter : edges[i].name) letter = static_cast<char>(random.below(256));
  }
  return edges;
}

// Pushes the edges and compares what is pulled with a stable sort by `key`.
template <class Sorter, class Key>
void expect_sorted(Sorter& sorter, std::vector<Edge> edges, Key key) {
  sorter.push_range(edges);
  std::ranges::stable_sort(edges, {}, key);
  EXPECT_EQ(pull_all(sorter), edges);
}

bool is_lighter(const Edge& a, const Edge& b) {
  return a.weight < b.weight;
}

struct Version {
  int major = 0;
  int minor = 0;
  auto operator<=>(const Version&) const = default;
};

struct Word {
  std::string text;
  unsigned count = 0;
};
struct ByText {
  void append_key(const Word& word, std::string& to) const { xxl::append_key(word.text, to); }
  void append_record(const Word& word, std::string& to) const {
    to += word.text;
    to.push_back(static_cast<char>(word.count));
  }
  Word record(std::string_view bytes) const {
    return {std::string(bytes.substr(0, bytes.size() - 1)),
            static_cast<unsigned char>(bytes.back())};
  }
};

TEST(NaturalSorter, has_the_type_of_its_order) {
  const resources shared = with_memory(8 * kLittleMemory, 8);
  sorter by_members(by(&Edge::to, desc(&Edge::weight)), shared);
  static_assert(std::is_same_v<decltype(by_members), sorter<Edge, order<Edge>>>);
  sorter by_lambda([](const Edge& a, const Edge& b) { return a.to < b.to; }, shared,
                   {.unique = true});
  static_assert(std::is_same_v<decltype(by_lambda)::value_type, Edge>);
  sorter by_function(&is_lighter, shared);
  static_assert(std::is_same_v<decltype(by_function)::value_type, Edge>);
  sorter by_format(ByText(), shared);
  static_assert(std::is_same_v<decltype(by_format), sorter<Word, ByText>>);
  sorter numbers(std::greater<std::uint64_t>(), shared);
  static_assert(std::is_same_v<decltype(numbers)::value_type, std::uint64_t>);
  sorter words(order<std::string>::descending(), shared);
  static_assert(std::is_same_v<decltype(words)::value_type, std::string>);

  const auto edges = random_edges(1000, 1);
  expect_sorted(by_members, edges, [](const Edge& e) { return std::pair(e.to, -e.weight); });
  expect_sorted(by_function, edges, &Edge::weight);
  by_lambda.push_range(edges);
  EXPECT_TRUE(std::ranges::is_sorted(pull_all(by_lambda), std::ranges::less_equal(), &Edge::to));
}

TEST(NaturalSorter, accepts_options_in_place_of_resources) {
  sorter edges(by(&Edge::to), {.memory_bytes = kLittleMemory, .scratch_dirs = {testing::TempDir()}},
               {.limit = 10});
  edges.push_range(random_edges(100'000, 2));
  EXPECT_EQ(pull_all(edges).size(), 10U);
  sorter<std::string> words({}, {.memory_bytes = kLittleMemory});
  words.push("b");
  words.push("a");
  EXPECT_EQ(read_all(words), (std::vector<std::string>{"a", "b"}));
  sorter<int> numbers({}, {}, {.unique = true});
  numbers.push_range(std::vector{1, 1});
  EXPECT_EQ(pull_all(numbers), std::vector{1});
}

TEST(NaturalSorter, sorts_by_several_members_at_once) {
  sorter edges(by(&Edge::to, desc(&Edge::weight), &Edge::name), with_memory(kLittleMemory));
  static_assert(std::is_same_v<decltype(edges), sorter<Edge>>);
  expect_sorted(edges, random_edges(300'000, 3),
                [](const Edge& e) { return std::tuple(e.to, -e.weight, std::string(e.text())); });
}

TEST(NaturalSorter, sorts_by_members_of_base_classes) {
  struct Color {
    std::uint16_t red, green;
  };
  struct Size {
    std::int32_t size;
  };
  struct Ball : Color, Size {
    std::uint32_t number;
  };
  const resources shared = with_memory(4 * kLittleMemory, 4);
  sorter by_base(by<Ball>(&Size::size, desc(&Color::green)), shared);
  static_assert(std::is_same_v<decltype(by_base), sorter<Ball>>);
  sorter<Ball> by_then(by(&Ball::number).then(&Size::size), shared);
  sorter<Ball> by_conversion(by(&Size::size).then(desc(&Size::size)), shared);
  std::vector<Ball> balls;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    balls.push_back({{1, static_cast<std::uint16_t>(i * 7919 % 13)},
                     {static_cast<std::int32_t>(i * 104729 % 17) - 8},
                     999 - i});
  }
  const auto numbers_of = [&](auto& sorter) {
    sorter.push_range(balls);
    std::vector<std::uint32_t> numbers;
    for (const Ball& ball : sorter) numbers.push_back(ball.number);
    return numbers;
  };
  EXPECT_TRUE(std::ranges::is_sorted(numbers_of(by_then)));
  const auto expected = [&](auto key) {
    auto sorted = balls;
    std::ranges::stable_sort(sorted, {}, key);
    std::vector<std::uint32_t> numbers;
    for (const Ball& ball : sorted) numbers.push_back(ball.number);
    return numbers;
  };
  EXPECT_EQ(numbers_of(by_base),
            expected([](const Ball& ball) { return std::pair(ball.size, -ball.green); }));
  EXPECT_EQ(numbers_of(by_conversion), expected([](const Ball& ball) { return ball.size; }));
}

TEST(NaturalSorter, sorts_by_what_functions_return) {
  const resources shared = with_memory(4 * kLittleMemory, 4);
  const auto edges = random_edges(300'000, 4);
  sorter by_function(by(&Edge::sum, desc(&Edge::text)), shared);
  auto expected = edges;
  std::ranges::stable_sort(expected, [](const Edge& a, const Edge& b) {
    return a.sum() != b.sum() ? a.sum() < b.sum() : a.text() > b.text();
  });
  by_function.push_range(edges);
  EXPECT_EQ(pull_all(by_function), expected);

  sorter by_lambda(by(
                       &Edge::to, [](const Edge& e) { return e.from % 7; }, desc(&Edge::weight)),
                   shared);
  expect_sorted(by_lambda, edges,
                [](const Edge& e) { return std::tuple(e.to, e.from % 7, -e.weight); });
  sorter by_any(by<Edge>([](const auto& e) { return e.to / 8; }), shared);
  expect_sorted(by_any, edges, [](const Edge& e) { return e.to / 8; });
}

// Members are sorted by their bytes, results of functions are compared.
TEST(NaturalSorter, orders_results_of_functions_as_members) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  struct Number {
    double real;
    std::int16_t integer;
    bool truth;
  };
  std::vector<Number> numbers;
  for (const double real : {0.0, -0.0, 1.5, -1.5, infinity, -infinity, nan, -nan}) {
    for (const std::int16_t integer : {0, -1, 1, -32768, 32767}) {
      numbers.push_back({real, integer, integer == 1});
    }
  }
  const resources shared = with_memory(2 * kLittleMemory, 2);
  sorter members(by(&Number::truth, desc(&Number::real), &Number::integer), shared);
  sorter functions(
      by([](const Number& n) { return n.truth; }, desc([](const Number& n) { return n.real; }),
         [](const Number& n) { return n.integer; }),
      shared);
  members.push_range(numbers);
  functions.push_range(numbers);
  const auto order = by(&Number::truth).then(desc(&Number::real)).then(&Number::integer);
  std::ranges::stable_sort(numbers, order);
  for (const Number& number : numbers) {
    EXPECT_TRUE(order.equal(*members, number) && order.equal(*functions, number));
    ++members;
    ++functions;
  }
}

TEST(NaturalSorter, needs_no_order_for_records_with_less) {
  const resources shared = with_memory(4 * kLittleMemory, 4);
  sorter<Version> versions({}, shared, {.unique = true});
  sorter<std::pair<int, int>> pairs({}, shared);
  sorter<Version> by_minor(by(&Version::minor), shared);
  for (int i = 0; i < 300'000; ++i) {
    versions.push({i % 100, -i % 1000});
    pairs.push({i % 100, -i % 1000});
    by_minor.push({i % 100, -i % 1000});
  }
  const auto found = pull_all(versions);
  EXPECT_EQ(found.size(), 1000U);
  EXPECT_TRUE(std::ranges::is_sorted(found));
  EXPECT_TRUE(std::ranges::is_sorted(pull_all(pairs)));
  EXPECT_TRUE(std::ranges::is_sorted(pull_all(by_minor), {}, &Version::minor));
}

// GPUs and joins of arrays need keys.
TEST(NaturalSorter, says_that_an_order_has_no_key) {
  EXPECT_THROW((void)order<Version>().parts(), Error);
  EXPECT_THROW((void)order<Version>().then(&Version::minor), Error);
  std::vector<Version> versions(2);
  EXPECT_THROW(sort_array(versions, {}), Error);
}

TEST(NaturalSorter, sorts_strings_by_less_and_greater) {
  const std::vector<std::string> words = {"b", "", "a", "ab", "b"};
  const auto sorted = [&](auto order) {
    sorter<std::string, decltype(order)> sorter(order, with_memory(kLittleMemory));
    sorter.push_range(words);
    return read_all(sorter);
  };
  const std::vector<std::string> ascending = {"", "a", "ab", "b", "b"};
  const std::vector<std::string> descending(ascending.rbegin(), ascending.rend());
  EXPECT_EQ(sorted(std::less<>()), ascending);
  EXPECT_EQ(sorted(std::less<std::string>()), ascending);
  EXPECT_EQ(sorted(std::greater<>()), descending);
  EXPECT_EQ(sorted(std::greater<std::string>()), descending);
}

TEST(NaturalSorter, gives_groups_of_any_size) {
  sorter<Edge> edges(by(&Edge::to), with_memory(kLittleMemory), {.repeatable = true});
  for (std::uint32_t i = 0; i < 1'000'000; ++i) edges.emplace(i, i % 2 == 0 ? 0 : i % 100);
  std::uint32_t groups = 0;
  for (auto [first, rows] : edges.groups()) {
    EXPECT_EQ(first.to, groups == 0 ? 0 : 2 * groups - 1);
    std::uint32_t count = 0, from = 0;
    for (const Edge& edge : rows) {
      if (edge.to != first.to || (count > 0 && edge.from <= from)) ADD_FAILURE();
      from = edge.from;
      ++count;
    }
    EXPECT_EQ(count, groups == 0 ? 500'000U : 10'000U);
    ++groups;
  }
  EXPECT_EQ(groups, 51U);
  static_assert(std::ranges::input_range<decltype(edges.groups())>);

  // By a part of the key, and with rows that are not read, or in part.
  edges.rewind();
  groups = 0;
  for (auto [tens, rows] : edges.groups([](const Edge& edge) { return edge.to / 10; })) {
    EXPECT_EQ(tens, groups);
    if (groups++ % 2 == 0) continue;
    for (const Edge& edge : rows) {
      EXPECT_EQ(edge.to / 10, tens);
      if (edge.from > 100) break;
    }
  }
  EXPECT_EQ(groups, 10U);
  EXPECT_TRUE(edges.groups().empty());
}

// A key that refers to its record is kept by value.
TEST(NaturalSorter, gives_groups_by_several_members) {
  sorter<Edge> edges(by(&Edge::to, &Edge::from), with_memory(kLittleMemory), {.repeatable = true});
  for (std::uint32_t i = 0; i < 400'000; ++i) edges.emplace(i % 7, i % 1000);
  const auto ends = [](const Edge& edge) { return std::tie(edge.to, edge.from); };
  std::uint32_t groups = 0;
  for (auto [key, rows] : edges.groups(ends)) {
    for (const Edge& edge : rows) ASSERT_EQ(ends(edge), key);
    ++groups;
  }
  EXPECT_EQ(groups, 7000U);
  edges.rewind();
  std::uint64_t rows = 0;
  for (const auto& [key, count] :
       edges.fold_by(ends, 0U, [](unsigned&count, const Edge&) { ++count; })) {
    EXPECT_NEAR(count, 57, 1);
    rows += count;
  }
  EXPECT_EQ(rows, 400'000U);
}

TEST(NaturalSorter, gives_groups_of_comparators_strings_and_formats) {
  const resources shared = with_memory(3 * kLittleMemory, 3);
  sorter edges([](const Edge& a, const Edge& b) { return a.to / 100 < b.to / 100; }, shared);
  edges.push_range(random_edges(1000, 6));
  std::uint32_t groups = 0;
  for (auto [first, rows] : edges.groups()) {
    for (const Edge& edge : rows) EXPECT_EQ(edge.to / 100, first.to / 100);
    ++groups;
  }
  EXPECT_EQ(groups, 3U);

  sorter<std::string> texts({}, shared);
  for (const char* text : {"ba", "a", "bb", "a"}) texts.emplace(text);
  std::string found;
  for (auto [key, rows] : texts.groups([](std::string_view text) { return text.substr(0, 1); })) {
    found += key + ":";
    for (const std::string_view text : rows) found += std::string(text) + " ";
  }
  EXPECT_EQ(found, "a:a a b:ba bb ");

  sorter words(ByText(), shared);
  for (const char* text : {"x", "y", "x"}) words.emplace(text, 2U);
  std::string sums;
  for (const auto& [text, sum] :
       words.fold_by(&Word::text, 0, [](int&sum, const Word&word) { sum += int(word.count); })) {
    sums += text + std::to_string(sum);
  }
  EXPECT_EQ(sums, "x4y2");
}

// Whatever equality says of it.
TEST(NaturalSorter, has_a_group_of_nan) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  sorter<double> numbers({}, with_memory(kLittleMemory));
  numbers.push_range(std::vector{nan, 1.0, nan});
  std::vector<int> counts;
  for (const auto& [key, count] :
       numbers.fold_by(std::identity(), 0, [](int&count, double) { ++count; })) {
    counts.push_back(count);
  }
  EXPECT_EQ(counts, (std::vector{1, 2}));
}

TEST(NaturalSorter, folds_groups_into_values) {
  sorter edges(by(&Edge::to), with_memory(kLittleMemory));
  for (std::uint32_t i = 0; i < 500'000; ++i) edges.emplace(i, i % 1000, 0.5F);
  std::uint32_t groups = 0;
  for (auto [to, sum] : edges.fold_by(
           &Edge::to, 1.0, [](double&sum, const Edge&edge) { sum += double(edge.weight); })) {
    EXPECT_EQ(to, groups++);
    EXPECT_EQ(sum, 251.0);
  }
  EXPECT_EQ(groups, 1000U);
}

TEST(NaturalSorter, ends_where_a_fold_throws) {
  sorter<int> numbers({}, with_memory(kLittleMemory), {.repeatable = true});
  numbers.push_range(std::vector{1, 1, 2});
  auto sums = numbers.fold_by(std::identity(), 0, [](int& count, int) {
    if (++count == 2) throw std::runtime_error("by the fold");
  });
  EXPECT_THROW(*sums, std::runtime_error);
  EXPECT_THROW((void)numbers.empty(), Error);
  numbers.rewind();
  EXPECT_EQ(pull_all(numbers), (std::vector{1, 1, 2}));
}

TEST(NaturalSorter, gives_the_first_records) {
  const resources shared = with_memory(2 * kLittleMemory, 2);
  sorter<int> numbers({}, shared);
  numbers.push_range(std::list{3, 1, 2});
  EXPECT_EQ(numbers.top(2), (std::vector{1, 2}));
  EXPECT_EQ(numbers.top(2), std::vector{3});
  EXPECT_TRUE(numbers.top(2).empty());
  sorter<std::string> words({}, shared);
  words.push_range(std::vector{"b", "a"});
  EXPECT_EQ(words.top(9), (std::vector<std::string>{"a", "b"}));
}

TEST(NaturalSort, sorts_ranges_larger_than_its_memory) {
  auto edges = random_edges(1'000'000, 7);
  auto expected = edges;
  std::ranges::stable_sort(expected, {}, &Edge::to);
  const SortReport report = xxl::sort(
      edges, by(&Edge::to), {.memory_bytes = kLittleMemory, .scratch_dirs = {testing::TempDir()}});
  EXPECT_EQ(edges, expected);
  EXPECT_GT(report.runs, 1U);
}

TEST(NaturalSort, sorts_ranges_of_all_kinds) {
  const resources shared = with_memory(kLittleMemory);
  std::deque<int> numbers = {3, 1, 2};
  xxl::sort(numbers, {}, shared);
  EXPECT_EQ(numbers, (std::deque{1, 2, 3}));
  xxl::sort(numbers, std::greater<>(), shared);
  EXPECT_EQ(numbers, (std::deque{3, 2, 1}));
  xxl::sort(std::span(&numbers[0], 1));
  xxl::sort(
      numbers, [](int a, int b) { return a < b; }, shared);
  EXPECT_EQ(numbers, (std::deque{1, 2, 3}));
  std::vector<std::string> words = {"b", "a"};
  xxl::sort(words, {}, shared);
  EXPECT_EQ(words, (std::vector<std::string>{"a", "b"}));
  Version versions[] = {{2, 1}, {1, 2}};
  xxl::sort(versions);
  EXPECT_EQ(versions[0].major, 1);
  std::vector<Word> records = {{"b", 1}, {"a", 2}};
  xxl::sort(records, ByText(), shared);
  EXPECT_EQ(records[0].count, 2U);
  std::vector<int> none;
  xxl::sort(none, {}, shared);
}

}  // namespace
}  // namespace xxl
