// Sorters of records of any length.
#include "xxl/any_length.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "advised_memory.h"
#include "base/random.h"
#include "callers/sorter_test_support.h"
#include "watchdog.h"
#include "xxl/sorter.h"

namespace xxl {
namespace {

using test::kLittleMemory;
using test::Watchdog;
using test::with_memory;

// Any bytes, of up to `most` of them; short ones and those that begin alike are frequent.
std::vector<std::string> random_strings(std::size_t count, std::size_t most, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::string> strings(count);
  for (std::string& string : strings) {
    if (random.below(2) == 0) string = "http://example.org/";
    const std::size_t bytes = random.below(random.below(10) == 0 ? most : 30);
    for (std::size_t i = 0; i < bytes; ++i) {
      string += static_cast<char>(random.below(random.below(3) == 0 ? 256 : 3));
    }
  }
  return strings;
}

template <class Sorter>
std::vector<std::string> strings_of(Sorter& sorter) {
  std::vector<std::string> all;
  for (; !sorter.empty(); ++sorter) all.emplace_back(*sorter);
  return all;
}

struct Person {
  std::string name;
  std::int32_t born = 0;
  std::uint64_t number = 0;  // in which it was pushed

  friend bool operator==(const Person&, const Person&) = default;
};

// By year of birth, the youngest first, then by name.
struct ByAge {
  void append_record(const Person& person, std::string& to) const {
    to.append(reinterpret_cast<const char*>(&person.born), sizeof(person.born));
    to.append(reinterpret_cast<const char*>(&person.number), sizeof(person.number));
    to += person.name;
  }
  void append_key(const Person& person, std::string& to) const {
    xxl::append_key_descending(person.born, to);
    xxl::append_key(person.name, to);
  }
  Person record(std::string_view bytes) const {
    Person person;
    std::memcpy(&person.born, bytes.data(), sizeof(person.born));
    std::memcpy(&person.number, bytes.data() + sizeof(person.born), sizeof(person.number));
    person.name = bytes.substr(sizeof(person.born) + sizeof(person.number));
    return person;
  }
};

std::vector<Person> random_people(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<Person> people;
  for (const std::string& name : random_strings(count, 200, seed + 1)) {
    people.push_back({name.substr(0, random.below(4)),
                      static_cast<std::int32_t>(random.below(30)) - 15, people.size()});
  }
  return people;
}

TEST(SorterOfAnyLength, sorts_strings_that_fit_in_memory) {
  auto strings = random_strings(5000, 500, 1);
  sorter<std::string> sorter({}, with_memory(kLittleMemory));
  for (const auto& string : strings) sorter.push(string);
  EXPECT_EQ(sorter.size(), strings.size());
  std::ranges::sort(strings);
  EXPECT_EQ(strings_of(sorter), strings);
  EXPECT_TRUE(sorter.empty());
}

TEST(SorterOfAnyLength, sorts_strings_that_do_not) {
  Watchdog watchdog;
  auto strings = random_strings(400000, 300, 2);
  sorter<std::string> sorter(order<std::string>::descending(), with_memory(kLittleMemory));
  for (const auto& string : strings) sorter.push(string);
  std::ranges::sort(strings, std::greater<>());
  EXPECT_EQ(strings_of(sorter), strings);
}

// Longer than blocks of runs and than what a caller is lent at a time.
TEST(SorterOfAnyLength, sorts_long_strings) {
  Watchdog watchdog;
  auto strings = random_strings(120, 3 << 20, 3);
  sorter<std::string> sorter({}, with_memory(64 << 20));
  for (const auto& string : strings) sorter.push(string);
  std::ranges::sort(strings);
  EXPECT_EQ(strings_of(sorter), strings);
}

TEST(SorterOfAnyLength, of_nothing_is_empty) {
  sorter<std::string> sorter({}, with_memory(kLittleMemory));
  EXPECT_TRUE(sorter.empty());
  EXPECT_EQ(sorter.begin(), sorter.end());
}

TEST(SorterOfAnyLength, takes_empty_strings) {
  sorter<std::string> sorter({}, with_memory(kLittleMemory));
  for (const char* string : {"", "b", "", "a"}) sorter.push(string);
  EXPECT_EQ(strings_of(sorter), (std::vector<std::string>{"", "", "a", "b"}));
}

TEST(SorterOfAnyLength, sorts_by_what_a_format_says_and_is_stable) {
  Watchdog watchdog;
  for (const std::size_t count : {1000, 500000}) {
    auto people = random_people(count, count);
    sorter<Person, ByAge> sorter({}, with_memory(kLittleMemory));
    for (const Person& person : people) sorter.push(person);
    std::ranges::stable_sort(people, [](const Person& a, const Person& b) {
      return a.born != b.born ? a.born > b.born : a.name < b.name;
    });
    std::vector<Person> sorted;
    for (const Person& person : sorter) sorted.push_back(person);
    EXPECT_EQ(sorted, people) << count;
  }
}

TEST(SorterOfAnyLength, leaves_out_equal_keys_and_stops_at_the_limit) {
  Watchdog watchdog;
  auto people = random_people(300000, 9);
  for (const auto limit : {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(100)}) {
    sorter<Person, ByAge> sorter({}, with_memory(kLittleMemory), {.unique = true, .limit = limit});
    for (const Person& person : people) sorter.push(person);
    std::vector<Person> expected = people;
    std::ranges::stable_sort(expected, [](const Person& a, const Person& b) {
      return a.born != b.born ? a.born > b.born : a.name < b.name;
    });
    const auto equal = [](const Person& a, const Person& b) {
      return a.born == b.born && a.name == b.name;
    };
    expected.erase(std::unique(expected.begin(), expected.end(), equal), expected.end());
    if (limit) expected.resize(*limit);
    std::vector<Person> found;
    for (; !sorter.empty(); ++sorter) found.push_back(*sorter);
    EXPECT_EQ(found, expected);
  }
}

TEST(SorterOfAnyLength, folds_strings_that_are_equal) {
  const Watchdog watchdog;
  std::map<std::string, std::size_t> expected;
  sorter<std::string> sorter({}, with_memory(kLittleMemory));
  for (const auto& string : random_strings(300000, 300, 17)) {
    ++expected[string];
    sorter.push(string);
  }
  std::map<std::string, std::size_t> found;
  std::string last, first;
  std::size_t count = 1;
  const auto add = [&](std::string& sum, std::string_view next) {
    EXPECT_EQ(sum, next);
    ++count;
  };
  for (; sorter.pull_reduced(first, add); count = 1) {
    EXPECT_TRUE(found.empty() || last < first);
    found[last = first] = count;
  }
  EXPECT_EQ(found, expected);
  EXPECT_FALSE(sorter.pull_reduced(first, add));
}

// What is folded changes the sum as it likes, also what its key is made of.
TEST(SorterOfAnyLength, folds_records_of_equal_keys_in_order) {
  const Watchdog watchdog;
  auto people = random_people(300000, 12);
  sorter<Person, ByAge> sorter({}, with_memory(kLittleMemory));
  for (const Person& person : people) sorter.push(person);
  std::ranges::stable_sort(people, [](const Person& a, const Person& b) {
    return a.born != b.born ? a.born > b.born : a.name < b.name;
  });
  const auto fold = [](Person& sum, const Person& next) {
    sum.number = sum.number * 31 + next.number;
    sum.name += next.name;
  };
  std::vector<Person> expected, found;
  for (std::size_t i = 0; i < people.size();) {
    const Person& first = people[i];
    expected.push_back(first);
    for (++i; i < people.size() && people[i].born == first.born && people[i].name == first.name;) {
      fold(expected.back(), people[i++]);
    }
  }
  for (Person sum; sorter.pull_reduced(sum, fold);) found.push_back(sum);
  EXPECT_LT(found.size(), people.size());
  EXPECT_EQ(found, expected);
}

TEST(SorterOfAnyLength, tells_the_key_of_a_record) {
  sorter<Person, ByAge> people({}, with_memory(kLittleMemory));
  const Person ada{"Ada", 1815, 0};
  people.push(ada);
  std::string key;
  ByAge().append_key(ada, key);
  ASSERT_FALSE(people.empty());
  EXPECT_EQ(people.key(), key);
  sorter<std::string> words({}, with_memory(kLittleMemory));
  words.push("word");
  ASSERT_FALSE(words.empty());
  EXPECT_EQ(words.key(), "word");
}

TEST(SorterOfAnyLength, is_pulled_again) {
  Watchdog watchdog;
  for (const std::size_t count : {1000, 300000}) {
    auto strings = random_strings(count, 200, 5);
    sorter<std::string> sorter({}, with_memory(kLittleMemory), {.repeatable = true});
    for (const auto& string : strings) sorter.push(string);
    sorter.rewind();  // before runs have been merged
    std::ranges::sort(strings);
    EXPECT_EQ(strings_of(sorter), strings);
    sorter.rewind();
    for (std::size_t i = 0; i < count / 3; ++i, ++sorter) {
      ASSERT_FALSE(sorter.empty());
      ASSERT_EQ(*sorter, strings[i]) << i;
    }
    sorter.rewind();
    EXPECT_EQ(strings_of(sorter), strings);
    sorter.rewind();
    EXPECT_FALSE(sorter.empty());
  }
}

TEST(SorterOfAnyLength, cannot_be_rewound_unless_asked_for) {
  sorter<std::string> sorter({}, with_memory(kLittleMemory));
  sorter.push("a");
  EXPECT_THROW(sorter.rewind(), Error);
}

TEST(SorterOfAnyLength, is_used_again_after_clear) {
  const resources shared = with_memory(kLittleMemory);
  sorter<std::string> sorter({}, shared);
  for (int round = 0; round < 3; ++round) {
    for (const char* string : {"c", "a", "b"}) sorter.push(string);
    EXPECT_EQ(sorter.size(), 3U);
    ASSERT_FALSE(sorter.empty());
    EXPECT_EQ(*sorter, "a");
    sorter.clear();
    EXPECT_EQ(sorter.size(), 0U);
    EXPECT_EQ(shared.free_memory_bytes(), kLittleMemory);
  }
}

TEST(SorterOfAnyLength, is_destroyed_at_any_time) {
  Watchdog watchdog;
  const auto strings = random_strings(200000, 200, 6);
  for (const std::size_t pushed : {0, 1, 1000, 200000}) {
    for (const std::size_t pulled : {0, 1, 1000, 150000}) {
      sorter<std::string> sorter({}, with_memory(kLittleMemory));
      for (std::size_t i = 0; i < pushed; ++i) sorter.push(strings[i]);
      for (std::size_t i = 0; i < std::min(pulled, pushed); ++i, ++sorter) {
        ASSERT_FALSE(sorter.empty());
      }
    }
  }
}

TEST(SorterOfAnyLength, is_read_without_asking_for_its_end) {
  auto strings = random_strings(100'000, 200, 7);
  sorter<std::string> sorter({}, with_memory(kLittleMemory));
  EXPECT_TRUE(sorter.empty());
  for (const auto& string : strings) {
    sorter.push(string);
    ASSERT_FALSE(sorter.empty());
  }
  std::ranges::sort(strings);
  EXPECT_EQ(sorter.key(), strings[0]);
  for (std::size_t i = 0; i < sorter.size(); ++i, ++sorter) ASSERT_EQ(*sorter, strings[i]);
  EXPECT_THROW((void)*sorter, Error);
  EXPECT_THROW((void)sorter.key(), Error);
  EXPECT_THROW(++sorter, Error);
  EXPECT_TRUE(sorter.empty());
}

TEST(SorterOfAnyLength, ends_where_a_fold_throws) {
  sorter<std::string> sorter({}, with_memory(kLittleMemory));
  for (const char* string : {"a", "a", "a", "b"}) sorter.push(string);
  std::string sum;
  const auto throws = [](std::string&, std::string_view) { throw std::runtime_error("by a fold"); };
  EXPECT_THROW(sorter.pull_reduced(sum, throws), std::runtime_error);
  EXPECT_THROW(sorter.pull_reduced(sum, [](std::string&, std::string_view) {}), Error);
  sorter.clear();
  sorter.push("c");
  EXPECT_EQ(strings_of(sorter), std::vector<std::string>{"c"});
}

TEST(SorterOfAnyLength, moves) {
  sorter<std::string> a({}, with_memory(kLittleMemory));
  a.push("b");
  sorter<std::string> b = std::move(a);
  b.push("a");
  ASSERT_FALSE(b.empty());
  EXPECT_EQ(*b, "a");
  sorter<std::string> c({}, with_memory(kLittleMemory));
  c = std::move(b);
  ++c;
  ASSERT_FALSE(c.empty());
  EXPECT_EQ(*c, "b");
}

TEST(SorterOfAnyLength, that_was_moved_from_is_as_after_clear) {
  sorter<std::string> a({}, with_memory(kLittleMemory));
  for (int i = 0; i < 5; ++i) a.push("old");
  ASSERT_FALSE(a.empty());
  sorter<std::string> b = std::move(a);
  EXPECT_EQ(*b, "old");
  b.clear();
  EXPECT_EQ(a.size(), 0U);
  a.push("new");
  EXPECT_EQ(strings_of(a), std::vector<std::string>{"new"});
}

TEST(SorterOfAnyLength, says_what_a_record_needs) {
  Watchdog watchdog;
  sorter<std::string> sorter({}, with_memory(kLittleMemory));
  try {
    for (int i = 0; i < 3; ++i) sorter.push(std::string(8 << 20, 'x'));
    (void)*sorter;
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_space);
    EXPECT_NE(std::string(error.what()).find("too long"), std::string::npos) << error.what();
  }
  sorter.clear();
  sorter.push("short");
  ASSERT_FALSE(sorter.empty());
  EXPECT_EQ(*sorter, "short");
}

// Pushes strings of so many bytes among short ones; 0, or what the error says would be enough.
std::uint64_t enough_for_long_strings(const std::vector<std::size_t>& lengths,
                                      std::uint64_t memory_bytes) {
  sorter<std::string> sorter({}, with_memory(memory_bytes));
  try {
    for (int i = 0; i < 1000; ++i) sorter.push("before " + std::to_string(i));
    for (const std::size_t bytes : lengths) {
      sorter.push(std::string(bytes, 'x'));
      for (int i = 0; i < 1000; ++i) sorter.push("behind " + std::to_string(i));
    }
    EXPECT_EQ(strings_of(sorter).size(), 1000 + 1001 * lengths.size());
    return 0;
  } catch (const Error& error) {
    const std::string message = error.what();
    // What the caller writes is no file.
    EXPECT_TRUE(message.starts_with("a record of ") || message.starts_with("records of "))
        << message;
    EXPECT_EQ(error.path(), "");
    EXPECT_EQ(error.offset(), Error::kNoOffset);
    EXPECT_NE(message.find("too long for memory_bytes ("), message.npos) << message;
    return advised_memory(message);
  }
}

TEST(SorterOfAnyLength, says_how_much_is_enough_for_a_record) {
  Watchdog watchdog;
  Random random(5);
  int fails_with_less = 0;
  constexpr int kCases = 8;
  for (int i = 0; i < kCases; ++i) {
    const std::size_t bytes = (4 << 20) + random.below(20 << 20);
    const std::uint64_t enough = enough_for_long_strings({bytes}, kLittleMemory);
    EXPECT_GT(enough, bytes);
    EXPECT_LT(enough, bytes / 2 * 3 + (3 << 20)) << bytes;
    EXPECT_EQ(enough_for_long_strings({bytes}, enough), 0) << bytes;
    fails_with_less += enough_for_long_strings({bytes}, enough / 4 * 3) != 0 ? 1 : 0;
  }
  EXPECT_GE(fails_with_less, kCases / 2);
}

TEST(SorterOfAnyLength, says_how_much_is_enough_for_longer_records_that_follow) {
  Watchdog watchdog;
  const std::vector<std::size_t> lengths{6 << 20, 9 << 20, 7 << 20};
  const std::uint64_t enough = enough_for_long_strings(lengths, kLittleMemory);
  EXPECT_GT(enough, 16U << 20);
  EXPECT_EQ(enough_for_long_strings(lengths, enough), 0);
}

TEST(SorterOfAnyLength, fails_where_a_transfer_does) {
  const auto strings = random_strings(200000, 100, 8);
  auto sorted = strings;
  std::ranges::sort(sorted);
  test::fail_each_transfer([&](const resources& shared, bool repeatable) {
    sorter<std::string> sorter({}, shared, {.repeatable = repeatable});
    for (const auto& string : strings) sorter.push(string);
    EXPECT_EQ(strings_of(sorter), sorted);
  });
}

// Another thread asks while records are pushed or pulled: nothing ends early without an error.
TEST(SorterOfAnyLength, stops_when_it_is_asked_to) {
  const Watchdog watchdog;
  const auto strings = random_strings(300000, 100, 9);
  for (int round = 0; round < 20; ++round) {
    std::stop_source source;
    const resources shared({.memory_bytes = kLittleMemory,
                            .scratch_dirs = {testing::TempDir()},
                            .stop = source.get_token()});
    std::thread stopping([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(10 * round));
      source.request_stop();
    });
    try {
      sorter<std::string> sorter({}, shared);
      for (const auto& string : strings) sorter.push(string);
      EXPECT_EQ(strings_of(sorter).size(), strings.size());
    } catch (const Error& error) {
      EXPECT_EQ(error.sys_errno(), ECANCELED) << error.what();
    }
    stopping.join();
  }
}

TEST(SorterOfAnyLength, refuses_expected_records) {
  EXPECT_THROW(sorter<std::string>({}, with_memory(kLittleMemory), {.expected_records = 5}), Error);
}

template <class N>
void expect_order(std::vector<N> ascending) {
  for (std::size_t i = 1; i < ascending.size(); ++i) {
    std::string a = "x", b = "x";
    append_key(ascending[i - 1], a);
    append_key(ascending[i], b);
    EXPECT_LT(a, b) << i;
    a.clear(), b.clear();
    append_key_descending(ascending[i - 1], a);
    append_key_descending(ascending[i], b);
    EXPECT_GT(a, b) << i;
  }
}

enum class Level : std::int8_t { low = -1, high = 1 };

TEST(AppendKey, sorts_numbers_by_their_values) {
  expect_order<std::uint8_t>({0, 1, 127, 128, 255});
  expect_order<std::int16_t>({-32768, -1, 0, 1, 32767});
  expect_order<std::int64_t>({std::numeric_limits<std::int64_t>::min(), -1, 0, 256});
  expect_order<Level>({Level::low, Level::high});
  const double inf = std::numeric_limits<double>::infinity();
  expect_order<double>({-inf, -1e300, -1, -0.0, 0.0, 1e-300, 1, inf, std::nan("")});
  expect_order<float>({-2.5F, -0.5F, 0.5F, 2.5F});
}

TEST(AppendKey, sorts_strings_by_their_bytes_whatever_follows) {
  using namespace std::string_literals;
  expect_order<std::string_view>({""s, "\0"s, "\0\0"s, "\0a"s, "\0\xff"s, "a"s, "a\0"s, "a\0b"s,
                                  "a\x01"s, "aa"s, "b"s, "\xff"s, "\xff\xff"s});
  Random random(4);
  for (int i = 0; i < 10000; ++i) {
    const auto any = [&] {
      std::string string(random.below(4), ' ');
      for (char& c : string) c = "\0\1\xfe\xff"[random.below(4)];
      return string;
    };
    const std::pair<std::string, std::string> a{any(), any()}, b{any(), any()};
    const auto key_of = [](const auto& parts) {
      std::string key;
      append_key(parts.first, key);
      append_key_descending(parts.second, key);
      return key;
    };
    const bool less = a.first != b.first ? a.first < b.first : a.second > b.second;
    EXPECT_EQ(key_of(a) < key_of(b), less);
  }
}

}  // namespace
}  // namespace xxl
