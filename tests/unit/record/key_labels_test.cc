#include "record/key_labels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/random.h"

namespace xxl {
namespace {

struct Less {
  bool operator()(std::uint64_t a, std::uint64_t b) const { return a < b; }
};

const std::byte* bytes(const std::uint64_t& number) {
  return reinterpret_cast<const std::byte*>(&number);
}

KeyLabels make_labels() {
  return KeyLabels(std::make_shared<detail::ComparedOrder<std::uint64_t, Less>>(Less()),
                   sizeof(std::uint64_t));
}

std::vector<std::uint64_t> add(KeyLabels& labels, const std::vector<std::uint64_t>& numbers) {
  std::vector<const std::byte*> records;
  for (const auto& number : numbers) records.push_back(bytes(number));
  return labels.add(records);
}

std::uint64_t word(const KeyLabels& labels, std::uint64_t number) {
  return labels.word(bytes(number));
}

TEST(KeyLabels, order_words_like_keys) {
  KeyLabels labels = make_labels();
  EXPECT_EQ(word(labels, 5), 0);
  const auto words = add(labels, {10, 20, 30});
  EXPECT_TRUE(std::ranges::all_of(words, KeyLabels::is_label));
  EXPECT_EQ(word(labels, 9), 0);
  EXPECT_FALSE(KeyLabels::is_label(word(labels, 9)));
  EXPECT_EQ(word(labels, 10), words[0]);
  EXPECT_EQ(word(labels, 11), words[0] + 1);
  EXPECT_EQ(word(labels, 20), words[1]);
  EXPECT_EQ(word(labels, 31), words[2] + 1);
  EXPECT_LT(words[0] + 1, words[1]);
  EXPECT_EQ(*reinterpret_cast<const std::uint64_t*>(labels.splitter(words[1])), 20);
}

TEST(KeyLabels, keep_their_place_when_others_are_added) {
  KeyLabels labels = make_labels();
  const auto first = add(labels, {100, 200});
  const auto words = add(labels, {50, 100, 110, 120, 200, 300});
  EXPECT_EQ(words[1], first[0]);
  EXPECT_EQ(words[4], first[1]);
  EXPECT_TRUE(std::ranges::is_sorted(words));
  EXPECT_EQ(word(labels, 100), first[0]);
  EXPECT_EQ(word(labels, 115), words[2] + 1);
}

TEST(KeyLabels, words_only_grow) {
  Random random(1);
  KeyLabels labels = make_labels();
  std::vector<std::uint64_t> probes(500), before(500, 0);
  for (auto& probe : probes) probe = random.below(100'000);
  std::ranges::sort(probes);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint64_t> added(1 + random.below(20));
    for (auto& number : added) number = random.below(100'000);
    std::ranges::sort(added);
    added.erase(std::unique(added.begin(), added.end()), added.end());
    const auto words = add(labels, added);
    EXPECT_TRUE(std::ranges::is_sorted(words));
    for (std::size_t i = 0; i < probes.size(); ++i) {
      const std::uint64_t now = word(labels, probes[i]);
      EXPECT_GE(now, before[i]);
      before[i] = now;
    }
    EXPECT_TRUE(std::ranges::is_sorted(before));
  }
}

// Splitters are added at the ends for ever, and within a gap for some time.
TEST(KeyLabels, have_room) {
  KeyLabels labels = make_labels();
  const std::uint64_t middle = std::uint64_t{1} << 62;
  add(labels, {middle});
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    EXPECT_TRUE(KeyLabels::is_label(add(labels, {middle + i * (std::uint64_t{1} << 40)})[0])) << i;
    EXPECT_TRUE(KeyLabels::is_label(add(labels, {middle - i})[0])) << i;
  }
  int inside = 0;
  while (inside < 64 &&
         KeyLabels::is_label(add(labels, {middle + (std::uint64_t{1} << 39 >> inside)})[0]))
    ++inside;
  EXPECT_GE(inside, 35);
  EXPECT_LT(inside, 64);
  // What found no place lies behind the splitter below it.
  EXPECT_EQ(word(labels, middle + 1), word(labels, middle) + 1);
}

// Where not even one splitter may be kept: words below all labels.
TEST(KeyLabels, of_large_records_may_have_no_room) {
  KeyLabels labels(std::make_shared<detail::ComparedOrder<std::uint64_t, Less>>(Less()),
                   std::size_t{17} << 20);
  EXPECT_EQ(add(labels, {10, 20}), (std::vector<std::uint64_t>{0, 0}));
  EXPECT_EQ(word(labels, 15), 0);
}

}  // namespace
}  // namespace xxl
