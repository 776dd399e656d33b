// Sorters of programs, by keys.
#include "xxl/sorter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "callers/shared_resources.h"
#include "callers/sorter_test_support.h"
#include "io_test_support.h"
#include "simulated_queue.h"
#include "watchdog.h"

namespace xxl {
namespace {

using test::kLittleMemory;
using test::pull_all;
using test::Watchdog;
using test::with_memory;

std::vector<std::uint64_t> random_numbers(std::size_t count, std::uint64_t below,
                                          std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint64_t> numbers(count);
  for (auto& number : numbers) number = random.below(below);
  return numbers;
}

enum class Color : std::uint8_t { red, green, blue };

struct Row {
  float weight;
  Color color;
  char name[5];
  std::int16_t level;
  std::uint64_t number;  // in which it was pushed

  friend bool operator==(const Row& a, const Row& b) { return a.number == b.number; }
};

std::vector<Row> random_rows(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<Row> rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    rows[i] = {};
    rows[i].weight = static_cast<float>(random.below(100)) / 8 - 6;
    rows[i].color = static_cast<Color>(random.below(3));
    rows[i].name[0] = static_cast<char>(random.below(256));
    rows[i].level = static_cast<std::int16_t>(random.below(7)) - 3;
    rows[i].number = i;
  }
  return rows;
}

TEST(Sorter, sorts_numbers_that_fit_in_memory) {
  auto numbers = random_numbers(10000, ~std::uint64_t{0}, 1);
  sorter<std::uint64_t> sorter({}, with_memory(kLittleMemory));
  for (const auto number : numbers) sorter.push(number);
  EXPECT_EQ(sorter.size(), numbers.size());
  sorter.sort();
  EXPECT_EQ(sorter.size(), numbers.size());
  std::ranges::sort(numbers);
  EXPECT_EQ(pull_all(sorter), numbers);
  EXPECT_TRUE(sorter.empty());
  EXPECT_TRUE(sorter.pull().empty());
}

TEST(Sorter, sorts_numbers_that_do_not) {
  auto numbers = random_numbers(4'000'000, ~std::uint64_t{0}, 2);
  sorter<std::uint64_t> sorter({}, with_memory(kLittleMemory));
  sorter.push(numbers);
  std::ranges::sort(numbers);
  std::size_t at = 0;
  for (; !sorter.empty(); ++sorter) ASSERT_EQ(*sorter, numbers[at++]);
  EXPECT_EQ(at, numbers.size());
}

// Without empty(), over the ends of many blocks.
TEST(Sorter, is_read_without_asking_for_its_end) {
  sorter<std::uint64_t> sorter({}, with_memory(kLittleMemory), {.repeatable = true});
  for (std::uint64_t i = 0; i < 1'000'000; ++i) sorter.push(999'999 - i);
  EXPECT_EQ(*sorter, 0U);
  for (std::uint64_t i = 0; i < sorter.size(); ++i, ++sorter) ASSERT_EQ(*sorter, i);
  EXPECT_THROW((void)*sorter, Error);
  EXPECT_THROW(++sorter, Error);
  EXPECT_TRUE(sorter.empty());
  sorter.rewind();
  for (std::uint64_t i = 0; i < 500'000; ++i) ++sorter;
  EXPECT_EQ(*sorter, 500'000U);
}

TEST(Sorter, can_be_filled_on_after_empty) {
  sorter<int> sorter({}, with_memory(kLittleMemory));
  EXPECT_TRUE(sorter.empty());
  sorter.push(2);
  EXPECT_FALSE(sorter.empty());
  sorter.push(1);
  std::vector<int> pulled;
  for (; !sorter.empty(); ++sorter) pulled.push_back(*sorter);
  EXPECT_EQ(pulled, (std::vector{1, 2}));
  EXPECT_THROW(sorter.push(3), Error);
}

// Before sort() as well: what is skipped or beyond the limit does not count.
TEST(Sorter, is_empty_if_nothing_will_come) {
  const auto filled = [](sorter_options options) {
    sorter<int> sorter({}, with_memory(kLittleMemory), options);
    for (const int number : {1, 2, 2}) sorter.push(number);
    return sorter.empty();
  };
  EXPECT_FALSE(filled({.skip = 2}));
  EXPECT_TRUE(filled({.skip = 3}));
  EXPECT_TRUE(filled({.limit = 0}));
  EXPECT_FALSE(filled({.unique = true}));
  EXPECT_TRUE(filled({.unique = true, .skip = 3}));
  EXPECT_THROW((void)filled({.unique = true, .skip = 2}), Error);
}

TEST(Sorter, of_nothing_is_empty) {
  sorter<std::uint64_t> sorter({}, with_memory(kLittleMemory));
  EXPECT_TRUE(sorter.empty());
  EXPECT_EQ(sorter.size(), 0);
}

TEST(Sorter, is_an_input_range) {
  static_assert(std::ranges::input_range<sorter<int>>);
  sorter<int> sorter({}, with_memory(kLittleMemory));
  for (const int number : {3, -1, 2}) sorter.push(number);
  std::vector<int> pulled;
  for (const int number : sorter) pulled.push_back(number);
  EXPECT_EQ(pulled, (std::vector{-1, 2, 3}));
}

TEST(Sorter, orders_numbers_of_all_kinds) {
  const auto sorted = []<class T>(std::vector<T> values, order<T> by) {
    sorter<T> sorter(std::move(by), with_memory(kLittleMemory));
    sorter.push(values);
    return pull_all(sorter);
  };
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(sorted(std::vector<double>{1.5, -infinity, -1.5, 0}, {}),
            (std::vector<double>{-infinity, -1.5, 0, 1.5}));
  EXPECT_EQ(sorted(std::vector<std::int8_t>{1, -128, 127, -1}, {}),
            (std::vector<std::int8_t>{-128, -1, 1, 127}));
  EXPECT_EQ(sorted(std::vector<std::uint32_t>{1, 7, 3}, order<std::uint32_t>(std::greater<>())),
            (std::vector<std::uint32_t>{7, 3, 1}));
  EXPECT_EQ(sorted(std::vector<std::uint16_t>{1, 7, 3}, order<std::uint16_t>::descending()),
            (std::vector<std::uint16_t>{7, 3, 1}));
  EXPECT_EQ(sorted(std::vector<Color>{Color::blue, Color::red}, {}),
            (std::vector<Color>{Color::red, Color::blue}));
  using Name = std::array<unsigned char, 2>;
  EXPECT_EQ(sorted(std::vector<Name>{{200, 1}, {7, 9}, {7, 8}}, {}),
            (std::vector<Name>{{7, 8}, {7, 9}, {200, 1}}));
}

TEST(Sorter, orders_by_members_and_is_stable) {
  for (const std::size_t count : {1000, 500'000}) {
    auto rows = random_rows(count, count);
    sorter<Row> sorter(
        by(&Row::color).then(desc(&Row::weight)).then(&Row::name).then(desc(&Row::level)),
        with_memory(kLittleMemory));
    for (const Row& row : rows) sorter.push(row);
    const auto key = [](const Row& row) {
      return std::tuple(row.color, -row.weight, static_cast<unsigned char>(row.name[0]),
                        -row.level);
    };
    std::ranges::stable_sort(rows, {}, key);
    EXPECT_EQ(pull_all(sorter), rows) << count;
  }
}

TEST(Sorter, leaves_out_equal_keys_and_stops_at_the_limit) {
  auto rows = random_rows(300'000, 5);
  sorter<Row> sorter(by(&Row::weight).then(&Row::color), with_memory(kLittleMemory),
                     {.unique = true, .limit = 100});
  sorter.push(rows);
  const auto key = [](const Row& row) { return std::pair(row.weight, row.color); };
  std::ranges::stable_sort(rows, {}, key);
  const auto equal = [&](const Row& a, const Row& b) { return key(a) == key(b); };
  rows.erase(std::unique(rows.begin(), rows.end(), equal), rows.end());
  rows.resize(100);
  EXPECT_EQ(pull_all(sorter), rows);
}

TEST(Sorter, folds_groups) {
  struct Sum {
    std::uint32_t key, count;
  };
  sorter<Sum> sorter(by(&Sum::key), with_memory(kLittleMemory));
  for (std::uint32_t i = 0; i < 1'000'000; ++i) sorter.push({i % 1000 * 7 % 1000, 1});
  std::uint32_t groups = 0;
  for (Sum sum; sorter.pull_reduced(sum, [](Sum&a, const Sum&b) { a.count += b.count; });) {
    EXPECT_EQ(sum.key, groups++);
    EXPECT_EQ(sum.count, 1000);
  }
  EXPECT_EQ(groups, 1000);
}

// The rest of its group can come no more: nothing else comes either.
TEST(Sorter, ends_where_a_fold_throws) {
  sorter<int> sorter({}, with_memory(kLittleMemory), {.repeatable = true});
  for (const int number : {1, 1, 1, 1, 2}) sorter.push(number);
  int sum = 0, folded = 0;
  EXPECT_THROW(sorter.pull_reduced(sum,
                                   [&](int&, int) {
                                     if (++folded == 2) throw std::runtime_error("by the fold");
                                   }),
               std::runtime_error);
  EXPECT_THROW(sorter.pull_reduced(sum, [](int&, int) {}), Error);
  EXPECT_THROW((void)sorter.empty(), Error);
  sorter.rewind();
  EXPECT_EQ(pull_all(sorter), (std::vector{1, 1, 1, 1, 2}));
}

TEST(Sorter, is_pulled_again) {
  // In memory; just beyond; in several runs; with records whose keys are too long for cells.
  for (const std::size_t count : {0, 1000, 300'000, 3'000'000}) {
    auto numbers = random_numbers(count, count, 3);
    sorter<std::uint64_t> sorter({}, with_memory(kLittleMemory), {.repeatable = true});
    sorter.push(numbers);
    std::ranges::sort(numbers);
    EXPECT_EQ(pull_all(sorter), numbers) << count;
    sorter.rewind();
    EXPECT_EQ(pull_all(sorter), numbers) << count;
    sorter.rewind();
    (void)sorter.pull();
    sorter.rewind();  // half way
    sorter.rewind();
    EXPECT_EQ(pull_all(sorter), numbers) << count;
  }
}

TEST(Sorter, of_long_keys_is_pulled_again) {
  using Name = std::array<unsigned char, 40>;
  for (const std::size_t count : {1000, 300'000}) {
    Random random(count);
    std::vector<Name> names(count);
    for (Name& name : names) {
      for (std::size_t i = 30; i < name.size(); ++i)
        name[i] = static_cast<unsigned char>(random.below(256));
    }
    sorter<Name> sorter({}, with_memory(kLittleMemory), {.unique = true, .repeatable = true});
    sorter.push(names);
    std::ranges::sort(names);
    for (int i = 0; i < 2; ++i, sorter.rewind()) EXPECT_EQ(pull_all(sorter), names) << count;
  }
}

// What is rewound while runs are still merged to runs loses none of them.
TEST(Sorter, is_rewound_before_the_last_merge) {
  struct Large {
    std::uint32_t key;
    std::byte content[16380];
  };
  constexpr std::uint32_t kRecords = 3000;
  for (int i = 0; i < 3; ++i) {
    sorter<Large> sorter(by(&Large::key), with_memory(kLittleMemory), {.repeatable = true});
    for (std::uint32_t record = 0; record < kRecords; ++record) {
      sorter.push({record * 7919 % kRecords, {}});
    }
    sorter.sort();
    std::this_thread::sleep_for(std::chrono::milliseconds(20 * i));
    sorter.rewind();
    std::uint32_t expected = 0;
    for (const Large& record : sorter) ASSERT_EQ(record.key, expected++);
    ASSERT_EQ(expected, kRecords);
  }
}

TEST(Sorter, cannot_be_rewound_unless_asked_for) {
  sorter<int> sorter({}, with_memory(kLittleMemory));
  sorter.push(1);
  EXPECT_THROW(sorter.rewind(), Error);
  EXPECT_EQ(*sorter.pull().begin(), 1);
}

TEST(Sorter, takes_no_records_after_sort) {
  sorter<int> sorter({}, with_memory(kLittleMemory));
  sorter.push(2);
  sorter.sort();
  EXPECT_THROW(sorter.push(1), Error);
  EXPECT_EQ(pull_all(sorter), std::vector{2});
}

TEST(Sorter, is_used_again_after_clear) {
  const resources shared = with_memory(kLittleMemory);
  sorter<std::uint64_t> sorter({}, shared);
  for (const std::size_t count : {1'000'000, 10, 2'000'000}) {
    auto numbers = random_numbers(count, 1000, count);
    sorter.push(numbers);
    if (count == 2'000'000) {
      sorter.clear();  // half filled
      EXPECT_EQ(sorter.size(), 0);
      EXPECT_EQ(shared.free_memory_bytes(), kLittleMemory);
      sorter.push(numbers);
    }
    std::ranges::sort(numbers);
    EXPECT_EQ(pull_all(sorter), numbers);
    sorter.clear();
  }
}

TEST(Sorter, moves) {
  auto numbers = random_numbers(1'000'000, 1 << 20, 9);
  const resources shared = with_memory(kLittleMemory);
  sorter<std::uint64_t> filled({}, shared);
  filled.push(std::span(numbers).first(500'000));
  sorter<std::uint64_t> sorter(std::move(filled));
  sorter.push(std::span(numbers).subspan(500'000));
  std::ranges::sort(numbers);
  EXPECT_EQ(*sorter.pull().begin(), numbers[0]);
  sorter = xxl::sorter<std::uint64_t>({}, with_memory(kLittleMemory));
  EXPECT_TRUE(sorter.empty());
  EXPECT_EQ(shared.free_memory_bytes(), kLittleMemory);
}

// There is no memory for it, and it needs none.
TEST(Sorter, that_was_moved_from_is_empty) {
  const resources shared = with_memory(kLittleMemory);
  sorter<int> from({}, shared);
  from.push(1);
  sorter<int> to(std::move(from));
  EXPECT_TRUE(from.empty());
  EXPECT_EQ(from.size(), 0U);
  for (const int number : from) ADD_FAILURE() << number;
  EXPECT_TRUE(from.pull().empty());
  EXPECT_THROW(from.push(1), Error);
  EXPECT_EQ(pull_all(to), std::vector{1});
}

// A child has the sorter, and none of its threads.
TEST(Sorter, is_left_to_the_parent_by_a_child) {
  const Watchdog watchdog;
  const auto numbers = random_numbers(1'000'000, ~std::uint64_t{0}, 4);
  auto sorter = std::make_unique<xxl::sorter<std::uint64_t>>(order<std::uint64_t>(),
                                                             with_memory(kLittleMemory));
  sorter->push(numbers);
  for (const bool sorted : {false, true}) {
    if (sorted) {
      ASSERT_FALSE(sorter->pull().empty());
    }
    EXPECT_EQ(test::status_of_child([&] {
                try {
                  for (;;) sorted ? (void)sorter->pull() : sorter->push(1);
                } catch (const Error& error) {
                  if (error.code() != ErrorCode::usage) ::_exit(1);
                }
                sorter.reset();
              }),
              0);
  }
  EXPECT_GT(pull_all(*sorter).size(), 0U);
}

TEST(Sorter, is_destroyed_at_any_time) {
  const Watchdog watchdog;
  const auto numbers = random_numbers(2'000'000, ~std::uint64_t{0}, 4);
  for (const std::size_t pushed : {0, 1, 1000, 1'000'000, 2'000'000}) {
    for (const int pulls : {-1, 0, 1, 5}) {
      sorter<std::uint64_t> sorter({}, with_memory(kLittleMemory));
      sorter.push(std::span(numbers).first(pushed));
      if (pulls >= 0) sorter.sort();
      for (int i = 0; i < pulls; ++i) (void)sorter.pull();
    }
  }
}

TEST(Sorter, shares_memory) {
  const resources shared = with_memory(3 * kLittleMemory, 3);
  std::vector<std::vector<std::uint64_t>> numbers;
  std::vector<sorter<std::uint64_t>> sorters;
  for (std::uint64_t i = 0; i < 3; ++i) {
    numbers.push_back(random_numbers(1'500'000, ~std::uint64_t{0}, i));
    sorters.emplace_back(order<std::uint64_t>(), shared);
  }
  EXPECT_EQ(shared.free_memory_bytes(), 0);
  try {
    sorter<std::uint64_t> one_too_many({}, shared);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_space);
    EXPECT_NE(std::string(error.what()).find("users"), std::string::npos) << error.what();
  }
  for (std::size_t at = 0; at < 1'500'000; at += 1000) {
    for (std::size_t i = 0; i < 3; ++i) sorters[i].push(std::span(numbers[i]).subspan(at, 1000));
  }
  for (std::size_t i = 0; i < 3; ++i) {
    std::ranges::sort(numbers[i]);
    EXPECT_EQ(pull_all(sorters[i]), numbers[i]);
  }
}

TEST(Sorter, takes_any_number_whatever_was_expected) {
  for (const std::uint64_t expected :
       {std::uint64_t{1}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    sorter<std::uint64_t> sorter({}, with_memory(2 * kLittleMemory),
                                 {.expected_records = expected});
    for (std::uint64_t i = 100'000; i > 0; --i) sorter.push(i);
    EXPECT_EQ(pull_all(sorter).size(), 100'000);
  }
}

TEST(Sorter, refuses_what_cannot_work) {
  EXPECT_THROW(sorter<int>({}, with_memory(1000)), Error);
  EXPECT_THROW(resources({.users = 0}), Error);
}

// Before anything is sorted.
TEST(Resources, refuse_a_scratch_directory_without_room_for_files) {
  const io::test::TempDirectory directory;
  const std::string file = directory / "file", closed = directory / "closed";
  std::ofstream(file) << "a file";
  std::filesystem::create_directory(closed);
  std::filesystem::permissions(closed, std::filesystem::perms::owner_read);
  std::vector<std::pair<std::string, int>> cases = {{directory / "missing", ENOENT},
                                                    {file, ENOTDIR}};
  if (::geteuid() != 0) cases.emplace_back(closed, EACCES);
  for (const auto& [path, reason] : cases) {
    try {
      const resources shared({.scratch_dirs = {directory.path(), path}});
      ADD_FAILURE() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::io);
      EXPECT_EQ(error.sys_errno(), reason);
      EXPECT_EQ(error.path(), path);
      EXPECT_EQ(error.operation(), Operation::create_temporary);
    }
  }
  const resources shared({.scratch_dirs = {directory.path()}});
  EXPECT_EQ(directory.names().size(), 2U);  // the test leaves nothing behind
}

TEST(Resources, can_be_copied_and_assigned) {
  resources first = with_memory(kLittleMemory);
  const resources copy = first;
  first = with_memory(2 * kLittleMemory);
  EXPECT_EQ(copy.options().memory_bytes, kLittleMemory);
  EXPECT_EQ(first.options().memory_bytes, 2 * kLittleMemory);
  const resources& same = first;
  first = same;
  EXPECT_EQ(first.free_memory_bytes(), 2 * kLittleMemory);
}

TEST(Sorter, tells_that_scratch_space_is_missing) {
  const Watchdog watchdog;
  auto directory = std::make_optional<io::test::TempDirectory>();
  const std::string path = directory->path();
  const resources shared({.memory_bytes = kLittleMemory, .scratch_dirs = {path}});
  directory.reset();
  const auto numbers = random_numbers(2'000'000, 10, 4);
  sorter<std::uint64_t> sorter({}, shared);
  try {
    sorter.push(numbers);
    (void)pull_all(sorter);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.path(), path) << error.what();
  }
  EXPECT_THROW(sorter.push(1), Error);  // still
  EXPECT_THROW((void)sorter.pull(), Error);
  sorter.clear();
  sorter.push(std::span(numbers).first(1000));  // fits in memory
  EXPECT_EQ(pull_all(sorter).size(), 1000);
}

// Before anything, while records are pushed, and while they are pulled.
TEST(Sorter, stops_when_it_is_asked_to) {
  const Watchdog watchdog;
  const auto numbers = random_numbers(1'000'000, ~std::uint64_t{0}, 5);
  for (const int when : {0, 1, 2}) {
    std::stop_source source;
    const resources shared({.memory_bytes = kLittleMemory,
                            .scratch_dirs = {testing::TempDir()},
                            .stop = source.get_token()});
    const auto stop_at = [&](int now) {
      if (when == now) source.request_stop();
    };
    try {
      sorter<std::uint64_t> sorter({}, shared);
      stop_at(0);
      sorter.push(std::span(numbers).first(700'000));
      stop_at(1);
      sorter.push(std::span(numbers).subspan(700'000));
      for (std::size_t pulled = 0; pulled < numbers.size(); pulled += sorter.pull().size()) {
        stop_at(2);
      }
      ADD_FAILURE() << when;
    } catch (const Error& error) {
      EXPECT_EQ(error.sys_errno(), ECANCELED) << error.what();
    }
    EXPECT_EQ(shared.free_memory_bytes(), kLittleMemory);
  }
}

TEST(Sorter, stops_while_a_thread_waits_for_it) {
  const Watchdog watchdog;
  std::stop_source source;
  const resources shared({.memory_bytes = kLittleMemory, .threads = 1, .stop = source.get_token()});
  std::thread stopping([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    source.request_stop();
  });
  sorter<std::uint64_t> sorter({}, shared);
  EXPECT_THROW(for (std::uint64_t i = 0;; ++i) sorter.push(i * 0x9e3779b97f4a7c15u), Error);
  stopping.join();
}

TEST(Sorter, tells_how_far_it_is) {
  const Watchdog watchdog;
  Progress progress;
  sorter<std::uint64_t> sorter({}, with_memory(kLittleMemory), {.progress = &progress});
  sorter.push(random_numbers(1'000'000, ~std::uint64_t{0}, 6));
  EXPECT_GE(*sorter, 0U);
  EXPECT_EQ(progress.phase, Phase::merging);
  EXPECT_EQ(progress.phase_bytes_total, 8'000'000U);
}

TEST(Sorter, fails_where_a_transfer_does) {
  auto numbers = random_numbers(1'000'000, ~std::uint64_t{0}, 8);
  auto sorted = numbers;
  std::ranges::sort(sorted);
  test::fail_each_transfer([&](const resources& shared, bool repeatable) {
    sorter<std::uint64_t> sorter({}, shared, {.repeatable = repeatable});
    sorter.push(numbers);
    EXPECT_EQ(pull_all(sorter), sorted);
  });
}

// Algorithms that take a count compare with no end.
TEST(Sorter, is_a_range_also_for_who_counts) {
  const resources shared = with_memory(kLittleMemory);
  sorter<std::uint64_t> numbers({}, shared);
  for (std::uint64_t i = 0; i < 1'000'000; ++i) numbers.push(999'999 - i);
  EXPECT_EQ(*numbers.begin(), 0U);
  std::vector<std::uint64_t> some;
  std::ranges::copy_n(numbers.begin(), 300'000, std::back_inserter(some));
  for (std::uint64_t i = 0; i < some.size(); ++i) ASSERT_EQ(some[i], i);
  EXPECT_EQ(*std::ranges::next(numbers.begin(), 300'000), 600'000U);
  EXPECT_EQ(std::ranges::max(numbers), 999'999U);
}

}  // namespace
}  // namespace xxl
