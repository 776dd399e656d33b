// Sorters of programs, by comparators.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "callers/sorter_test_support.h"
#include "xxl/sorter.h"

namespace xxl {
namespace {

using test::kLittleMemory;
using test::pull_all;
using test::with_memory;

template <std::size_t kBytes>
struct Padded {
  std::uint32_t key;
  std::uint32_t number;  // in which it was pushed
  std::byte padding[kBytes - 8];
};

struct ByKey {
  template <class Record>
  bool operator()(const Record& a, const Record& b) const {
    return a.key < b.key;
  }
};

struct Input {
  const char* name;
  std::function<std::uint32_t(std::size_t i, std::size_t count, Random& random)> key;
};

const Input kInputs[] = {
    {"random",
     [](std::size_t, std::size_t, Random& random) {
       return static_cast<std::uint32_t>(random.below(std::uint64_t{1} << 32));
     }},
    {"ascending",
     [](std::size_t i, std::size_t, Random&) { return static_cast<std::uint32_t>(i); }},
    {"descending", [](std::size_t i, std::size_t count,
                      Random&) { return static_cast<std::uint32_t>(count - i); }},
    {"equal", [](std::size_t, std::size_t, Random&) { return 7U; }},
    {"few", [](std::size_t, std::size_t,
               Random& random) { return static_cast<std::uint32_t>(random.below(3)); }},
    {"skewed",
     [](std::size_t, std::size_t, Random& random) {
       return static_cast<std::uint32_t>(
           random.below(8) != 0 ? random.below(500) : random.below(std::uint64_t{1} << 32));
     }},
    {"saw",
     [](std::size_t i, std::size_t, Random&) { return static_cast<std::uint32_t>(i % 10007); }},
    // First little is seen of what comes later: the sample of the beginning does not help.
    {"growing", [](std::size_t i, std::size_t,
                   Random& random) { return static_cast<std::uint32_t>(random.below(i + 1)); }},
    {"inward", [](std::size_t i, std::size_t count,
                  Random&) { return static_cast<std::uint32_t>(i % 2 == 0 ? i : 2 * count - i); }},
};

template <std::size_t kBytes>
void sort_all(std::size_t bytes, const sorter_options& options) {
  using Record = Padded<kBytes>;
  for (const Input& input : kInputs) {
    for (const unsigned threads : {1, 4}) {
      SCOPED_TRACE(std::string(input.name) + ", threads: " + std::to_string(threads));
      Random random(bytes);
      std::vector<Record> records(bytes / kBytes);
      for (std::size_t i = 0; i < records.size(); ++i) {
        records[i] = {};
        records[i].key = input.key(i, records.size(), random);
        records[i].number = static_cast<std::uint32_t>(i);
      }
      sorter<Record, ByKey> sorter({}, with_memory(kLittleMemory, 1, threads), options);
      sorter.push(records);
      std::ranges::stable_sort(records, ByKey());
      if (options.unique) {
        const auto equal = [](const Record& a, const Record& b) { return a.key == b.key; };
        records.erase(std::unique(records.begin(), records.end(), equal), records.end());
      }
      const std::size_t skip = std::min<std::size_t>(options.skip, records.size());
      records.erase(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(skip));
      if (options.limit && *options.limit < records.size()) records.resize(*options.limit);
      const auto sorted = pull_all(sorter);
      EXPECT_TRUE(std::ranges::equal(sorted, records, [](const Record& a, const Record& b) {
        return std::tie(a.key, a.number) == std::tie(b.key, b.number);
      }));
      if (!options.repeatable) continue;
      sorter.rewind();
      EXPECT_EQ(pull_all(sorter).size(), records.size());
    }
  }
}

TEST(ComparedSorter, sorts_what_fits_in_memory_stably) {
  sort_all<8>(1 << 20, {});
  sort_all<100>(1 << 20, {});
}

TEST(ComparedSorter, sorts_what_does_not_stably) {
  sort_all<8>(9 << 20, {});
  sort_all<24>(6 << 20, {});
  sort_all<200>(6 << 20, {});
}

TEST(ComparedSorter, is_pulled_again) {
  sort_all<16>(1 << 20, {.repeatable = true});
  sort_all<16>(9 << 20, {.repeatable = true});
}

TEST(ComparedSorter, leaves_out_equal_keys_and_stops_at_the_limit) {
  sort_all<8>(9 << 20, {.unique = true});
  sort_all<64>(9 << 20, {.unique = true, .limit = 1000});
  sort_all<16>(6 << 20, {.skip = 1000, .limit = 1000});
  sort_all<16>(1 << 20, {.skip = 1000, .repeatable = true});
  sort_all<16>(6 << 20, {.unique = true, .skip = 70000, .repeatable = true});
}

// With an order that no key has: strings of any content, shorter ones first.
TEST(ComparedSorter, sorts_by_any_comparator) {
  struct Word {
    unsigned char length;
    char text[31];
    std::string_view view() const { return {text, length}; }
  };
  const auto less = [](const Word& a, const Word& b) {
    return a.length != b.length ? a.length < b.length : a.view() < b.view();
  };
  Random random(3);
  std::vector<Word> words(400'000);
  for (Word& word : words) {
    word = {};
    word.length = static_cast<unsigned char>(random.below(32));
    for (int i = 0; i < word.length; ++i) word.text[i] = static_cast<char>('a' + random.below(2));
  }
  sorter<Word, decltype(less)> sorter(less, with_memory(kLittleMemory));
  for (const Word& word : words) sorter.push(word);
  std::ranges::sort(words, less);
  const auto sorted = pull_all(sorter);
  ASSERT_EQ(sorted.size(), words.size());
  for (std::size_t i = 0; i < words.size(); ++i) ASSERT_EQ(sorted[i].view(), words[i].view()) << i;
}

// Not one of these is a strict weak order (but the last, for which all records are equal).
struct NotAnOrder {
  int which;

  template <class Record>
  bool operator()(const Record& a, const Record& b) const {
    switch (which) {
      case 0:
        return a.key <= b.key;
      case 1:
        return true;
      case 2:
        return a.key >= b.key;
      case 3:
        return a.key % 3 == (b.key + 1) % 3;  // in a circle
      case 4:
        return a.key % 5 != 0 && b.key % 5 != 0 && a.key < b.key;  // as `<` of NaN
      case 5:
        return (a.key * 2654435761U ^ b.key * 40503U) % 2 == 0;
      default:
        return false;
    }
  }
};

template <std::size_t kBytes>
void sort_without_order(int which, std::size_t bytes, const sorter_options& options) {
  using Record = Padded<kBytes>;
  SCOPED_TRACE(std::to_string(which) + ", bytes: " + std::to_string(bytes) + " of " +
               std::to_string(kBytes));
  Random random(bytes);
  sorter<Record, NotAnOrder> sorter(NotAnOrder{which}, with_memory(kLittleMemory), options);
  try {
    for (std::size_t i = 0; i < bytes / kBytes; ++i) {
      sorter.push({static_cast<std::uint32_t>(random.below(bytes)), 0, {}});
    }
    const std::size_t pulled = pull_all(sorter).size();
    if (!options.unique) {
      EXPECT_EQ(pulled, bytes / kBytes);
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::corrupt) << error.what();
    EXPECT_NE(std::string(error.what()).find("not a strict weak order"), std::string::npos)
        << error.what();
  }
}

// All records in any order, or an error that says what may be wrong: nothing else.
TEST(ComparedSorter, survives_comparators_that_are_no_order) {
  const test::Watchdog watchdog;
  for (int which = 0; which < 7; ++which) {
    for (const std::size_t bytes : {200, 100'000, 2 << 20, 6 << 20}) {
      sort_without_order<8>(which, bytes, {});
      sort_without_order<64>(which, bytes, {.repeatable = bytes > 1 << 20});
      if (bytes < 4 << 20) sort_without_order<16>(which, bytes, {.unique = true});
    }
  }
}

TEST(ComparedSorter, says_that_the_comparator_may_be_no_order) {
  struct Number {
    double value;
  };
  const auto less = [](const Number& a, const Number& b) { return a.value < b.value; };
  // Threads divide the work as it comes, and not all that they do loses records.
  for (int attempt = 0; attempt < 20; ++attempt) {
    sorter<Number, decltype(less)> sorter(less, with_memory(kLittleMemory));
    for (int i = 0; i < 1'000'000; ++i) {
      sorter.push({i % 10 == 0 ? std::nan("") : (i * 7919LL % 1'000'003) * 0.5});
    }
    try {
      (void)pull_all(sorter);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::corrupt);
      EXPECT_NE(
          std::string(error.what()).find("the comparator is probably not a strict weak order"),
          std::string::npos)
          << error.what();
      return;
    }
  }
  FAIL();
}

TEST(ComparedSorter, folds_groups) {
  sorter<Padded<8>, ByKey> sorter({}, with_memory(kLittleMemory));
  for (std::uint32_t i = 0; i < 100'000; ++i) sorter.push({i % 10, 1, {}});
  std::uint32_t groups = 0;
  for (Padded<8> sum;
       sorter.pull_reduced(sum, [](auto&a, const auto&b) { a.number += b.number; });) {
    EXPECT_EQ(sum.key, groups++);
    EXPECT_EQ(sum.number, 10'000);
  }
  EXPECT_EQ(groups, 10);
}

// Throws at a comparison of all threads together.
struct Throwing {
  bool operator()(std::uint64_t a, std::uint64_t b) const {
    if (--*left == 0) throw std::runtime_error("by a comparator");
    return a < b;
  }
  std::atomic<std::int64_t>* left;
};

// On the caller's thread, on those that sort, and on those that merge. The exception comes at the
// next call, instead of records out of order.
TEST(ComparedSorter, throws_what_its_comparator_threw) {
  const test::Watchdog watchdog;
  for (const std::size_t count : {1000, 400'000, 1'500'000}) {
    std::vector<std::uint64_t> numbers(count);
    Random random(count);
    for (std::uint64_t& number : numbers) number = random();
    std::atomic<std::int64_t> left = std::int64_t{1} << 60;
    const resources shared = with_memory(kLittleMemory);
    const auto run = [&](sorter<std::uint64_t, Throwing>& sorter) {
      sorter.push(numbers);
      std::uint64_t last = 0;
      for (const std::uint64_t number : sorter) {
        ASSERT_LE(last, number);
        last = number;
      }
    };
    sorter<std::uint64_t, Throwing> sorter({&left}, shared);
    run(sorter);
    const std::int64_t comparisons = (std::int64_t{1} << 60) - left;
    for (const int tenth : {0, 3, 6, 9}) {
      sorter.clear();
      left = 1 + comparisons / 10 * tenth;
      EXPECT_THROW(run(sorter), std::runtime_error) << count << " " << tenth;
      EXPECT_THROW((void)sorter.pull(), std::exception);
    }
    sorter.clear();
    run(sorter);
  }
}

// With an order of its own.
TEST(ComparedSorter, that_was_moved_from_is_as_after_clear) {
  const resources shared = with_memory(2 * kLittleMemory, 2);
  const auto descending = [](int a, int b) { return a > b; };
  sorter<int, decltype(descending)> from(descending, shared);
  for (const int number : {1, 3, 2}) from.push(number);
  auto to = std::move(from);
  from.push(5);
  from.push(6);
  EXPECT_EQ(pull_all(to), (std::vector{3, 2, 1}));
  EXPECT_EQ(pull_all(from), (std::vector{6, 5}));
}

}  // namespace
}  // namespace xxl
