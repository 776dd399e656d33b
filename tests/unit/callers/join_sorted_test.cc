// Joins of sorted records of programs.
#include "xxl/join_sorted.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "callers/sorter_test_support.h"
#include "watchdog.h"
#include "xxl/sorter.h"

namespace xxl {
namespace {

using test::kLittleMemory;
using test::Watchdog;
using test::with_memory;

struct Left {
  std::uint32_t key;
  std::uint32_t number;
};
struct Right {
  std::uint64_t number;
  std::uint32_t key;
};

// A row, by the numbers of its records; nothing where it has none.
using RowOfBoth = std::pair<std::optional<std::uint64_t>, std::optional<std::uint64_t>>;

std::vector<RowOfBoth> rows_by_loops(const std::vector<Left>& r, const std::vector<Right>& s,
                                     JoinKind kind) {
  std::multimap<std::uint32_t, std::uint64_t> of_s;
  for (const Right& right : s) of_s.emplace(right.key, right.number);
  std::map<std::uint32_t, bool> in_r;
  std::vector<RowOfBoth> rows;
  for (const Left& left : r) {
    in_r[left.key] = true;
    const auto [begin, end] = of_s.equal_range(left.key);
    const bool lone = begin == end;
    if (kind == JoinKind::semi || kind == JoinKind::anti) {
      if (lone == (kind == JoinKind::anti)) rows.push_back({left.number, {}});
      continue;
    }
    for (auto it = begin; it != end; ++it) rows.push_back({left.number, it->second});
    if (lone && (kind == JoinKind::left || kind == JoinKind::full)) {
      rows.push_back({left.number, {}});
    }
  }
  if (kind == JoinKind::right || kind == JoinKind::full) {
    for (const Right& right : s) {
      if (!in_r.contains(right.key)) rows.push_back({{}, right.number});
    }
  }
  std::ranges::sort(rows);
  return rows;
}

// Checks that keys ascend, and that steps say truly which one is the last of its key.
template <class Joined>
std::vector<RowOfBoth> rows_of(Joined joined) {
  std::vector<RowOfBoth> rows;
  std::optional<std::uint32_t> last;
  bool goes_on = false;  // the step before was not the last of its key
  for (const auto& step : joined) {
    const auto& [r, s] = step;
    EXPECT_TRUE(!r.empty() || !s.empty());
    const std::uint32_t key = r.empty() ? s.front().key : r.front().key;
    EXPECT_TRUE(!last || (goes_on ? *last == key : *last < key));
    last = key;
    goes_on = !step.last_of_key;
    for (const auto& left : r) {
      EXPECT_EQ(left.key, key);
      for (const auto& right : s) rows.push_back({left.number, right.number});
      if (s.empty()) rows.push_back({left.number, {}});
    }
    for (const auto& right : s) {
      EXPECT_EQ(right.key, key);
      if (r.empty()) rows.push_back({{}, right.number});
    }
  }
  EXPECT_FALSE(goes_on);
  std::ranges::sort(rows);
  return rows;
}

constexpr std::array kKinds = {JoinKind::inner, JoinKind::left, JoinKind::right,
                               JoinKind::full,  JoinKind::semi, JoinKind::anti};

template <class T>
std::vector<T> random_records(Random& random, std::size_t count, std::uint64_t keys) {
  std::vector<T> records(count);
  for (std::size_t i = 0; i < count; ++i) {
    records[i].key = static_cast<std::uint32_t>(random.below(random.below(keys) + 1));
    records[i].number = static_cast<decltype(records[i].number)>(i);
  }
  return records;
}

join_options with(JoinKind kind, std::uint64_t memory_bytes = 1 << 20) {
  return {.how = kind, .memory_bytes = memory_bytes, .scratch_dirs = {testing::TempDir()}};
}

// By vectors, and by lists, which are read some records at a time.
TEST(JoinSorted, joins_ranges_of_any_sizes_by_any_kind) {
  const Watchdog watchdog;
  Random random(3);
  for (int round = 0; round < 60; ++round) {
    const std::uint64_t keys = 1 + random.below(100);
    auto r = random_records<Left>(random, random.below(300), keys);
    auto s = random_records<Right>(random, random.below(300), keys);
    std::ranges::sort(r, {}, &Left::key);
    std::ranges::sort(s, {}, &Right::key);
    const std::list<Left> r_list(r.begin(), r.end());
    const std::list<Right> s_list(s.begin(), s.end());
    for (const JoinKind kind : kKinds) {
      const auto expected = rows_by_loops(r, s, kind);
      // Room for one record of a key, for a few, and for all.
      for (const std::uint64_t memory : {1, 200, 1 << 20}) {
        if (memory == 1 && round % 20 != 0) continue;  // a file for each key
        EXPECT_EQ(rows_of(join(r, s, &Left::key, &Right::key, with(kind, memory))), expected);
        EXPECT_EQ(rows_of(join(r_list, s_list, &Left::key, &Right::key, with(kind, memory))),
                  expected);
      }
    }
  }
}

TEST(JoinSorted, joins_sorters_larger_than_memory) {
  const Watchdog watchdog;
  Random random(5);
  const auto r = random_records<Left>(random, 600'000, 400'000);
  const auto s = random_records<Right>(random, 500'000, 300'000);
  for (const JoinKind kind : {JoinKind::full, JoinKind::anti}) {
    const resources shared = with_memory(2 * kLittleMemory, 2);
    sorter<Left> sorted_r(by(&Left::key), shared);
    sorter<Right> sorted_s(by(&Right::key), shared);
    sorted_r.push(r);
    sorted_s.push(s);
    EXPECT_EQ(rows_of(join(sorted_r, sorted_s, &Left::key, &Right::key, with(kind))),
              rows_by_loops(r, s, kind));
  }
}

// Neither side of a key fits in memory: R in parts, each with all blocks of S from scratch.
TEST(JoinSorted, joins_keys_larger_than_memory) {
  const Watchdog watchdog;
  constexpr std::uint32_t kMany = 200'000;
  constexpr std::uint64_t kMemory = 1 << 20;
  std::vector<Left> r;
  std::vector<Right> s;
  for (std::uint32_t i = 0; i < kMany; ++i) {
    r.push_back({7, i});
    s.push_back({i, 7});
  }
  r.push_back({8, 0});
  s.push_back({0, 9});
  std::uint64_t pairs = 0, parts = 0, lone_r = 0, lone_s = 0, sum = 0;
  for (const auto& [left, right] :
       join(r, s, &Left::key, &Right::key, with(JoinKind::full, kMemory))) {
    if (left.empty()) lone_s += right.size();
    if (right.empty()) lone_r += left.size();
    pairs += left.size() * right.size();
    ++parts;
    for (const Left& record : left) sum += record.number * right.size();
  }
  EXPECT_EQ(pairs, std::uint64_t{kMany} * kMany);
  EXPECT_EQ(sum, std::uint64_t{kMany} * kMany * (kMany - 1) / 2);
  EXPECT_GT(parts, 4U);
  EXPECT_EQ(lone_r, 1U);
  EXPECT_EQ(lone_s, 1U);
}

// A key is one step wherever blocks of the sorters end.
TEST(JoinSorted, gives_a_key_at_once_if_it_fits) {
  const Watchdog watchdog;
  struct Large {
    std::uint32_t key;
    std::byte content[1020];
  };
  constexpr std::uint32_t kKeys = 300;
  const resources shared = with_memory(4 * kLittleMemory, 2);
  for (const JoinKind kind : {JoinKind::inner, JoinKind::semi, JoinKind::left}) {
    sorter<Large> r(by(&Large::key), shared), s(by(&Large::key), shared);
    for (std::uint32_t i = 0; i < 80 * kKeys; ++i) {
      r.push({i % kKeys, {}});
      s.push({kind == JoinKind::left ? kKeys : i % kKeys, {}});
    }
    std::uint32_t keys = 0;
    for (const auto& step : join(r, s, &Large::key, &Large::key, with(kind, 8 << 20))) {
      EXPECT_TRUE(step.last_of_key);
      EXPECT_EQ(step.r.front().key, keys++);
      EXPECT_EQ(step.r.size(), 80U);
      EXPECT_EQ(step.s.size(), kind == JoinKind::inner ? 80U : 0U);
    }
    EXPECT_EQ(keys, kKeys);
  }
}

// Whichever side has more of the memory: a Left has 8 bytes, a Right 16.
TEST(JoinSorted, shares_its_memory_between_both_sides) {
  for (const auto& [of_r, of_s] : {std::pair{110, 5}, {10, 55}, {60, 30}}) {
    const std::list<Left> r(static_cast<std::size_t>(of_r), Left{1, 0});
    const std::list<Right> s(static_cast<std::size_t>(of_s), Right{0, 1});
    const auto steps_of = [&](std::uint64_t memory) {
      std::vector<bool> last;
      for (const auto& step : join(r, s, &Left::key, &Right::key, with(JoinKind::inner, memory))) {
        last.push_back(step.last_of_key);
      }
      return last;
    };
    EXPECT_EQ(steps_of(960), std::vector{true});
    EXPECT_EQ(steps_of(944), (std::vector{false, true}));
  }
}

TEST(JoinSorted, is_read_without_asking_for_its_end) {
  const std::vector<Left> r{{1, 0}, {2, 1}, {3, 2}};
  const std::vector<Right> s{{0, 1}, {1, 2}, {2, 3}};
  auto joined = join(r, s, &Left::key, &Right::key);
  EXPECT_EQ((*joined).r.front().key, 1U);
  ++joined;
  ++joined;
  EXPECT_EQ((*joined).s.front().key, 3U);
  ++joined;
  EXPECT_TRUE(joined.empty());
}

TEST(JoinSorted, says_which_side_is_not_in_order) {
  const std::vector<Left> r{{2, 0}, {1, 1}, {3, 0}};
  const std::vector<Right> s{{0, 1}, {0, 2}, {0, 3}};
  try {
    (void)rows_of(join(r, s, &Left::key, &Right::key, with(JoinKind::full)));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_NE(std::string(error.what()).find("records of R are not in order"), std::string::npos);
  }
}

TEST(JoinSorted, joins_in_descending_order_and_by_functions) {
  const std::vector<int> r{5, 3, 3, 1};
  const std::vector<long> s{50, 30, 20};
  std::vector<std::pair<int, long>> rows;
  for (const auto& [left, right] : join(
           r, s, [](int x) { return x; }, [](long x) { return x / 10; }, {}, std::greater<>())) {
    for (const int x : left) {
      for (const long y : right) rows.emplace_back(x, y);
    }
  }
  EXPECT_EQ(rows, (std::vector<std::pair<int, long>>{{5, 50}, {3, 30}, {3, 30}}));
}

TEST(JoinSorted, compares_numbers_by_their_values) {
  const std::vector<int> r{-1, 5};
  const std::vector<unsigned> s{5, ~0U};
  std::size_t rows = 0;
  for (const auto& [left, right] : join(r, s, std::identity(), std::identity())) {
    EXPECT_EQ(left.front(), 5);
    rows += left.size() * right.size();
  }
  EXPECT_EQ(rows, 1U);
}

struct AsView {
  void append_record(const std::string& record, std::string& to) const { to += record; }
  void append_key(const std::string& record, std::string& to) const { to += record; }
  std::string_view record(std::string_view bytes) const { return bytes; }
};

TEST(JoinSorted, keeps_records_that_a_format_gives_as_views) {
  const resources shared = with_memory(2 * kLittleMemory, 2);
  sorter<std::string, AsView> r({}, shared), s({}, shared);
  for (int i = 0; i < 30'000; ++i) {
    r.push(std::to_string(i));
    s.push(std::to_string(i));
  }
  std::size_t rows = 0;
  for (const auto& [left, right] : join(r, s, std::identity(), std::identity())) {
    EXPECT_EQ(left.front(), right.front());
    rows += left.size() * right.size();
  }
  EXPECT_EQ(rows, 30'000U);
}

TEST(JoinSorted, joins_strings) {
  const resources shared = with_memory(2 * kLittleMemory, 2);
  sorter<std::string> r({}, shared), s({}, shared);
  for (const char* word : {"b", "a", "c", "b"}) r.push(word);
  for (const char* word : {"c", "b", "d"}) s.push(word);
  std::vector<std::string> both;
  for (const auto& [left, right] : join(r, s, std::identity(), std::identity())) {
    both.insert(both.end(), left.begin(), left.end());
    EXPECT_EQ(right.size(), 1U);
  }
  EXPECT_EQ(both, (std::vector<std::string>{"b", "b", "c"}));
}

TEST(JoinSorted, says_that_strings_with_one_key_cannot_be_stored) {
  const std::vector<std::string> r(100, "a"), s(100, "a");
  auto joined = join(r, s, std::identity(), std::identity(), with(JoinKind::inner, 64));
  EXPECT_THROW((void)joined.empty(), Error);
}

}  // namespace
}  // namespace xxl
