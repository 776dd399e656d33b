#include "sort/radix_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/random.h"

namespace xxl {
namespace {

template <class Key>
struct Item {
  Key key;
  std::uint32_t place;  // in the input
  friend bool operator==(const Item&, const Item&) = default;
};

// A way to make the key of item i out of n.
struct Distribution {
  std::string name;
  std::function<std::uint64_t(Random&, std::size_t i, std::size_t n)> key;
};

const std::vector<Distribution>& distributions() {
  static const std::vector<Distribution> all = {
      {"uniform", [](Random& r, std::size_t, std::size_t) { return r(); }},
      {"narrow", [](Random& r, std::size_t, std::size_t) { return (r() >> 20) | 7ull << 44; }},
      {"constant", [](Random&, std::size_t, std::size_t) { return 42ull; }},
      {"two values", [](Random& r, std::size_t, std::size_t) { return r() & 1ull << 63; }},
      {"few distinct", [](Random& r, std::size_t, std::size_t) { return r.below(16) << 30; }},
      {"low bits", [](Random& r, std::size_t, std::size_t) { return r.below(1000); }},
      {"sparse bits", [](Random& r, std::size_t, std::size_t) { return r() & 0x8001000080100041; }},
      // Each level of recursion takes off one leading bit only from half of the keys.
      {"powers of two", [](Random& r, std::size_t, std::size_t) { return 1ull << r.below(64); }},
      {"exponential", [](Random& r, std::size_t, std::size_t) { return r() >> r.below(64); }},
      {"sorted", [](Random&, std::size_t i, std::size_t) { return i * 0x10000000001ull; }},
      {"reverse", [](Random&, std::size_t i, std::size_t n) { return (n - i) * 0x10000001ull; }},
      {"organ pipe", [](Random&, std::size_t i, std::size_t n) { return std::min(i, n - i); }},
      {"nearly sorted",
       [](Random& r, std::size_t i, std::size_t) { return r.below(100) == 0 ? r() >> 40 : i; }},
      // A large group equal in its leading bits, reversed in the others, among other keys.
      {"reverse group", [](Random& r, std::size_t i,
                           std::size_t n) { return i % 4 == 0 ? r() : 5ull << 60 | (n - i); }},
      {"extremes", [](Random& r, std::size_t, std::size_t) { return r() & 1 ? ~0ull : 0; }},
  };
  return all;
}

template <class Key>
void sorts_like_stable_sort(std::size_t n, const Distribution& distribution) {
  SCOPED_TRACE(distribution.name + ", n = " + std::to_string(n));
  Random random(n);
  std::vector<Item<Key>> items(n), scratch(n);
  for (std::size_t i = 0; i < n; ++i) {
    items[i] = {static_cast<Key>(distribution.key(random, i, n)), static_cast<std::uint32_t>(i)};
  }
  std::vector<Item<Key>> expected = items;
  std::stable_sort(expected.begin(), expected.end(),
                   [](const auto& a, const auto& b) { return a.key < b.key; });
  radix_sort(std::span(items), std::span(scratch), [](const Item<Key>& item) { return item.key; });
  EXPECT_TRUE(items == expected);
}

// The largest is divided first, with keys of 32 bits as with those of 64.
const std::size_t kSizes[] = {0, 1, 2, 3, 24, 25, 26, 100, 255, 1000, 4097, 70000, 500001};

TEST(RadixSort, SortsStablyBy64BitKeys) {
  for (const Distribution& distribution : distributions()) {
    for (std::size_t n : kSizes) sorts_like_stable_sort<std::uint64_t>(n, distribution);
  }
}

TEST(RadixSort, SortsStablyBy32BitKeys) {
  for (const Distribution& distribution : distributions()) {
    for (std::size_t n : kSizes) sorts_like_stable_sort<std::uint32_t>(n, distribution);
  }
}

TEST(RadixSort, SortsEveryPermutationOfSmallInputs) {
  std::vector<std::uint64_t> permutation = {0, 1, 1, 2, 3, 1ull << 40, ~0ull};
  const std::vector<std::uint64_t> sorted = permutation;
  do {
    // Repeated, so that it is too long for insertion sort alone.
    std::vector<std::uint64_t> items, expected;
    for (int i = 0; i < 5; ++i) items.insert(items.end(), permutation.begin(), permutation.end());
    for (std::uint64_t key : sorted) expected.insert(expected.end(), 5, key);
    std::vector<std::uint64_t> scratch(items.size());
    radix_sort(std::span(items), std::span(scratch), [](std::uint64_t key) { return key; });
    ASSERT_EQ(items, expected);
  } while (std::next_permutation(permutation.begin(), permutation.end()));
}

TEST(RadixSort, LeavesScratchBeyondTheItemsAlone) {
  Random random(1);
  std::vector<std::uint64_t> items(1000), scratch(1001, 77);
  for (auto& key : items) key = random();
  radix_sort(std::span(items), std::span(scratch), [](std::uint64_t key) { return key; });
  EXPECT_TRUE(std::is_sorted(items.begin(), items.end()));
  EXPECT_EQ(scratch.back(), 77u);
}

// Calls of the key function stand for the work: no distribution makes it quadratic.
TEST(RadixSort, WorkIsBoundedForEveryDistribution) {
  const std::size_t n = 500000;
  for (const Distribution& distribution : distributions()) {
    SCOPED_TRACE(distribution.name);
    Random random(5);
    std::vector<std::uint64_t> items(n), scratch(n);
    for (std::size_t i = 0; i < n; ++i) items[i] = distribution.key(random, i, n);
    std::uint64_t calls = 0;
    radix_sort(std::span(items), std::span(scratch), [&calls](std::uint64_t key) {
      ++calls;
      return key;
    });
    EXPECT_LT(calls, 100 * n);
  }
}

}  // namespace
}  // namespace xxl
