// Joins of arrays of programs, on simulated GPUs and on processors, compared with nested loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "callers/array_test_support.h"
#include "xxl/array.h"

namespace xxl {
namespace {

using test::simulated_gpus;

struct User {
  std::int32_t country = 0;
  std::int64_t id = 0;
  char name[13] = {};
};
struct Order {
  char name[13] = {};
  std::int16_t amount = 0;
  std::int64_t user = 0;
  std::int32_t country = 0;
};

constexpr JoinKind kArrayKinds[] = {JoinKind::inner, JoinKind::left, JoinKind::right,
                                    JoinKind::full,  JoinKind::semi, JoinKind::anti};

// How keys are drawn: of so many different ones, a part of all the first one.
struct Keys {
  std::uint64_t different = 1;
  unsigned frequent_percent = 0;
};

template <class Record>
std::vector<Record> make(std::size_t count, const Keys& keys, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Record> records(count);
  for (Record& record : records) {
    const bool frequent = random() % 100 < keys.frequent_percent;
    const std::uint64_t key = frequent ? 0 : random() % keys.different;
    const auto id = static_cast<std::int64_t>(key * 0x9e3779b97f4a7c15u);
    if constexpr (std::is_same_v<Record, User>) {
      record.id = id;
    } else {
      record.user = id;
    }
    record.country = static_cast<std::int32_t>(key);
    std::snprintf(record.name, sizeof record.name, "%llx", static_cast<unsigned long long>(id));
  }
  return records;
}

// Keys of both sides as strings that compare as they do.
using KeysOf = std::vector<std::string>;

std::string ordered(std::int64_t number) {
  std::uint64_t bits = static_cast<std::uint64_t>(number) ^ (std::uint64_t{1} << 63);
  std::string key;
  for (int shift = 56; shift >= 0; shift -= 8) key += static_cast<char>(bits >> shift);
  return key;
}

std::vector<index_pair> expected_pairs(const KeysOf& r, const KeysOf& s, JoinKind kind) {
  std::map<std::string, std::pair<std::vector<std::size_t>, std::vector<std::size_t>>> groups;
  for (std::size_t i = 0; i < r.size(); ++i) groups[r[i]].first.push_back(i);
  for (std::size_t j = 0; j < s.size(); ++j) groups[s[j]].second.push_back(j);
  std::vector<index_pair> pairs;
  const bool pairing = kind != JoinKind::semi && kind != JoinKind::anti;
  for (const auto& [key, group] : groups) {
    for (const std::size_t i : group.first) {
      if (group.second.empty()) {
        if (kind == JoinKind::left || kind == JoinKind::full || kind == JoinKind::anti) {
          pairs.push_back({i, index_pair::kNone});
        }
      } else if (pairing) {
        for (const std::size_t j : group.second) pairs.push_back({i, j});
      } else if (kind == JoinKind::semi) {
        pairs.push_back({i, index_pair::kNone});
      }
    }
    if (group.first.empty() && (kind == JoinKind::right || kind == JoinKind::full)) {
      for (const std::size_t j : group.second) pairs.push_back({index_pair::kNone, j});
    }
  }
  return pairs;
}

array_options on_gpus(std::size_t gpus) {
  array_options options{.device = gpus == 0 ? Device::cpu : Device::gpu, .threads = 3};
  options.finder = simulated_gpus(gpus, {.memory_bytes = 128 * kMiB});
  return options;
}

// `r_key`, `s_key`: what a record is joined by, as bytes.
template <class RKey, class SKey>
void expect_joined(const std::vector<User>& r, const order<User>& by_r, const std::vector<Order>& s,
                   const order<Order>& by_s, RKey&& r_key, SKey&& s_key) {
  KeysOf r_keys, s_keys;
  std::ranges::transform(r, std::back_inserter(r_keys), r_key);
  std::ranges::transform(s, std::back_inserter(s_keys), s_key);
  for (const JoinKind kind : kArrayKinds) {
    const std::vector<index_pair> expected = expected_pairs(r_keys, s_keys, kind);
    for (const std::size_t gpus : {0, 1, 3}) {
      const array_join joined = join_arrays(r, by_r, s, by_s, kind, on_gpus(gpus));
      EXPECT_TRUE(joined.pairs == expected)
          << "kind " << static_cast<int>(kind) << " on " << gpus << ": " << joined.pairs.size()
          << " rows, not " << expected.size();
      EXPECT_EQ(joined.report.rows, expected.size());
    }
  }
}

struct Case {
  std::size_t r = 0, s = 0;
  Keys r_keys, s_keys;
};

const Case kCases[] = {
    {0, 0, {}, {}},
    {100, 0, {50}, {}},
    {0, 100, {}, {50}},
    {1, 1, {}, {}},
    {3000, 20000, {3000}, {6000}},
    {20000, 3000, {1000000}, {1000000}},
    {2000, 5000, {1000, 20}, {1000, 5}},
    {700, 900, {}, {}},                  // one key
    {5000, 200000, {4000}, {8000, 70}},  // one key frequent on one side
};

TEST(JoinOfArrays, gives_the_same_pairs_on_gpus_and_on_processors) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(std::to_string(c.r) + " and " + std::to_string(c.s));
    const auto r = make<User>(c.r, c.r_keys, 1);
    const auto s = make<Order>(c.s, c.s_keys, 2);
    expect_joined(
        r, by(&User::id), s, by(&Order::user), [](const User& user) { return ordered(user.id); },
        [](const Order& order) { return ordered(order.user); });
  }
}

TEST(JoinOfArrays, joins_by_short_keys_descending) {
  const auto r = make<User>(3000, {500}, 3);
  const auto s = make<Order>(4000, {700}, 4);
  const auto key = [](const auto& record) { return ordered(-std::int64_t{record.country}); };
  expect_joined(r, desc(&User::country), s, desc(&Order::country), key, key);
}

TEST(JoinOfArrays, joins_by_keys_of_several_members) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(std::to_string(c.r) + " and " + std::to_string(c.s));
    const auto r = make<User>(c.r, c.r_keys, 5);
    const auto s = make<Order>(c.s, c.s_keys, 6);
    const auto key = [](const auto& record) {
      return ordered(record.country) + std::string(record.name, sizeof record.name);
    };
    expect_joined(r, by(&User::country).then(&User::name), s,
                  by(&Order::country).then(&Order::name), key, key);
  }
}

TEST(JoinOfArrays, gives_rows_out_in_pieces_from_many_threads) {
  const auto r = make<User>(20000, {300, 50}, 7);
  const auto s = make<Order>(2000, {300, 50}, 8);
  for (const std::size_t gpus : {0, 2}) {
    std::atomic<std::uint64_t> rows = 0, largest = 0;
    std::atomic<bool> wrong = false;
    const array_join_report report = join_arrays(
        r, by(&User::id), s, by(&Order::user),
        [&](std::span<const index_pair> pairs) {
          for (const index_pair& pair : pairs) {
            if (r[pair.r].id != s[pair.s].user) wrong = true;
          }
          rows += pairs.size();
          std::uint64_t before = largest;
          while (before < pairs.size() && !largest.compare_exchange_weak(before, pairs.size())) {
          }
        },
        JoinKind::inner, on_gpus(gpus));
    EXPECT_FALSE(wrong);
    EXPECT_GT(rows, 9000000);
    EXPECT_EQ(rows, report.rows);
    EXPECT_LT(largest, 200000);
    EXPECT_EQ(report.devices.front() == "cpu", gpus == 0);
  }
}

TEST(JoinOfArrays, throws_what_its_caller_throws) {
  const auto r = make<User>(20000, {300, 50}, 7);
  const auto s = make<Order>(2000, {300, 50}, 8);
  for (const std::size_t gpus : {0, 2}) {
    EXPECT_THROW(join_arrays(
                     r, by(&User::id), s, by(&Order::user),
                     [](std::span<const index_pair>) { throw std::runtime_error("enough"); },
                     JoinKind::inner, on_gpus(gpus)),
                 std::runtime_error);
  }
}

TEST(JoinOfArrays, uses_processors_where_there_is_no_gpu_or_it_is_too_small) {
  const auto r = make<User>(1000, {1000}, 9);
  const auto s = make<Order>(100000, {1000}, 10);
  array_options options{.threads = 2};
  for (const std::size_t gpus : {0, 1}) {
    options.device = Device::automatic;
    options.finder = simulated_gpus(gpus, {.memory_bytes = 256 * kKiB});
    const array_join joined =
        join_arrays(r, by(&User::id), s, by(&Order::user), JoinKind::right, options);
    EXPECT_EQ(joined.pairs.size(), joined.report.rows);
    EXPECT_EQ(joined.report.devices, std::vector<std::string>{"cpu"});
    EXPECT_FALSE(joined.report.no_gpu.empty());
    options.device = Device::gpu;
    EXPECT_THROW(join_arrays(r, by(&User::id), s, by(&Order::user), JoinKind::right, options),
                 Error);
  }
}

TEST(JoinOfArrays, says_when_a_gpu_fails_while_it_joins) {
  const auto r = make<User>(1000, {1000}, 11);
  const auto s = make<Order>(1000, {1000}, 12);
  gpu::SimulatedOptions failing{.memory_bytes = 128 * kMiB};
  failing.before = [](const char* operation) {
    if (operation == std::string("match")) throw Error(ErrorCode::device, "it fails");
  };
  array_options options{.device = Device::gpu, .threads = 2};
  options.finder = simulated_gpus(2, failing);
  try {
    join_arrays(r, by(&User::id), s, by(&Order::user), JoinKind::inner, options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::device);
  }
}

TEST(JoinOfArrays, refuses_keys_that_cannot_be_compared) {
  const std::vector<User> r(1);
  const std::vector<Order> s(1);
  EXPECT_THROW(join_arrays(r, by(&User::id), s, by(&Order::country)), Error);
  EXPECT_THROW(join_arrays(r, by(&User::id), s, desc(&Order::user)), Error);
}

}  // namespace
}  // namespace xxl
