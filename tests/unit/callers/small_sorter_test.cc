// Sorters of few records (job/small_sort.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <stop_token>
#include <vector>

#include "base/random.h"
#include "callers/sorter_test_support.h"
#include "xxl/error.h"
#include "xxl/sorter.h"

namespace xxl {
namespace {

using test::kLittleMemory;
using test::pull_all;
using test::with_memory;

std::size_t threads_of_process() {
  const std::filesystem::directory_iterator all("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// Numbers of records around those at which its memory grows, and at which it is no longer small.
TEST(SmallSorter, gives_what_one_of_many_gives) {
  struct Three {
    std::uint64_t key, number, rest;
  };
  constexpr std::uint64_t kMemory = 8 << 20;
  const std::size_t most = kMemory / 8 / sizeof(Three);
  for (const std::size_t count :
       {std::size_t{1}, std::size_t{169}, std::size_t{170}, std::size_t{171}, std::size_t{512},
        most - 1, most, most + 1, most + 5000}) {
    SCOPED_TRACE(count);
    Random random(count);
    std::vector<Three> records(count);
    for (std::size_t i = 0; i < count; ++i) records[i] = {random.below(count), i, ~i};
    sorter<Three> by_key(by(&Three::key), with_memory(kMemory), {.repeatable = true});
    const auto less = [](const Three& a, const Three& b) { return a.key < b.key; };
    sorter<Three, decltype(less)> by_order(less, with_memory(kMemory));
    for (const Three& record : records) by_key.push(record);
    by_order.push(records);
    std::stable_sort(records.begin(), records.end(), less);
    const auto check = [&](auto& sorter) {
      std::size_t at = 0;
      for (const Three& record : sorter) {
        ASSERT_LT(at, count);
        ASSERT_EQ(record.number, records[at].number) << at;
        ASSERT_EQ(record.rest, ~record.number);
        ++at;
      }
      ASSERT_EQ(at, count);
      EXPECT_EQ(sorter.report().records_in, count);
      EXPECT_EQ(sorter.report().records_out, count);
      EXPECT_NE(sorter.report().checksum, 0u);
    };
    check(by_key);
    by_key.rewind();
    check(by_key);
    check(by_order);
  }
}

TEST(SmallSorter, obeys_its_options) {
  for (const std::uint64_t skip : {0, 3, 100}) {
    for (const std::uint64_t limit : {0, 2, 1000}) {
      sorter<std::uint64_t> some({}, with_memory(kLittleMemory),
                                 {.unique = true, .skip = skip, .limit = limit});
      for (std::uint64_t i = 0; i < 50; ++i) some.push(i % 10);
      std::vector<std::uint64_t> expected;
      for (std::uint64_t i = skip; i < 10 && expected.size() < limit; ++i) expected.push_back(i);
      EXPECT_EQ(pull_all(some), expected) << skip << " " << limit;
    }
  }
}

TEST(SmallSorter, takes_little) {
  const std::size_t before = threads_of_process();
  std::vector<sorter<std::uint64_t>> many;
  for (std::uint64_t i = 0; i < 200; ++i) {
    many.emplace_back(order<std::uint64_t>(), with_memory(kLittleMemory));
    many.back().push(i + 1);
    many.back().push(i);
  }
  for (std::uint64_t i = 0; i < 200; ++i) ASSERT_EQ(*many[i], i);
  EXPECT_EQ(threads_of_process(), before);
}

TEST(SmallSorter, stops_when_it_is_asked_to) {
  std::stop_source stop;
  const resources shared({.memory_bytes = kLittleMemory, .stop = stop.get_token()});
  sorter<std::uint64_t> numbers({}, shared);
  numbers.push(1);
  stop.request_stop();
  EXPECT_THROW(pull_all(numbers), Error);
  EXPECT_THROW(pull_all(numbers), Error);  // and stays stopped
}

// A child has the records, which are the parent's.
TEST(SmallSorter, is_left_to_the_parent_by_a_child) {
  sorter<std::uint64_t> numbers({}, with_memory(kLittleMemory));
  for (const std::uint64_t number : {3, 1, 2}) numbers.push(number);
  for (const bool sorted : {false, true}) {
    if (sorted) {
      EXPECT_EQ(*numbers, 1u);
    }
    EXPECT_EQ(test::status_of_child([&] {
                try {
                  for (;;) sorted ? (void)numbers.pull() : numbers.push(1);
                } catch (const Error& error) {
                  if (error.code() != ErrorCode::usage) ::_exit(1);
                }
                numbers.clear();
                // The child may use sorters of its own.
                sorter<std::uint64_t> own({}, with_memory(kLittleMemory));
                own.push(1);
                if (pull_all(own).size() != 1) ::_exit(2);
              }),
              0);
  }
  EXPECT_EQ(pull_all(numbers), (std::vector<std::uint64_t>{1, 2, 3}));
}

// The bytes between members are part of a record: an optimized assignment leaves them out.
TEST(SmallSorter, keeps_the_bytes_between_members) {
  struct Record {
    std::uint8_t key;
    std::uint64_t number;
    std::uint16_t last;
  };
  const auto less = [](const Record& a, const Record& b) { return a.key < b.key; };
  for (const std::size_t count : {3U, 40U, 1000U}) {
    sorter<Record, decltype(less)> sorter(less, with_memory(kLittleMemory));
    for (std::size_t i = 0; i < count; ++i) {
      Record record;
      std::memset(static_cast<void*>(&record), static_cast<int>(i), sizeof(record));
      record.key = static_cast<std::uint8_t>(i * 7);
      record.number = i;
      sorter.push(record);
    }
    EXPECT_EQ(pull_all(sorter).size(), count);
  }
}

}  // namespace
}  // namespace xxl
