#include "bench/loser_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"

namespace xxl {
namespace {

// A record that remembers where it came from.
template <class Word>
struct Tagged {
  Word key;
  std::uint32_t run;
  std::uint32_t index;
  friend bool operator==(const Tagged&, const Tagged&) = default;
};

template <class Word>
using Runs = std::vector<std::vector<Tagged<Word>>>;

template <class Word>
struct TaggedOrder {
  Word word(const Tagged<Word>& record) const { return record.key; }
};

// The low bits of the key are left to compare_ties.
struct SplitOrder {
  std::uint32_t word(const Tagged<std::uint64_t>& record) const {
    return static_cast<std::uint32_t>(record.key >> 4);
  }
  int compare_ties(const Tagged<std::uint64_t>& a, const Tagged<std::uint64_t>& b) const {
    return static_cast<int>(a.key & 15) - static_cast<int>(b.key & 15);
  }
};

// Runs of 0 to 40 records with keys drawn from `distinct` ones at the upper end of the range, so
// that ties and the largest key are common. About a third of the runs are empty.
template <class Word>
Runs<Word> random_runs(std::size_t count, std::uint64_t distinct, Random& random) {
  Runs<Word> runs(count);
  for (std::uint32_t run = 0; run < count; ++run) {
    std::vector<Word> keys(random.below(3) == 0 ? 0 : random.below(41));
    for (Word& key : keys) {
      key = static_cast<Word>(std::numeric_limits<Word>::max() - random.below(distinct));
    }
    std::ranges::sort(keys);
    for (std::uint32_t i = 0; i < keys.size(); ++i) runs[run].push_back({keys[i], run, i});
  }
  return runs;
}

template <class Record>
std::vector<RunCursor<const Record*>> cursors_of(const std::vector<std::vector<Record>>& runs) {
  std::vector<RunCursor<const Record*>> cursors;
  for (const auto& run : runs) cursors.push_back({run.data(), run.data() + run.size()});
  return cursors;
}

template <class Word>
std::vector<Tagged<Word>> stably_sorted(const Runs<Word>& runs) {
  std::vector<Tagged<Word>> all;
  for (const auto& run : runs) all.insert(all.end(), run.begin(), run.end());
  std::ranges::stable_sort(all, {}, &Tagged<Word>::key);
  return all;
}

template <class Order, class Word>
std::vector<Tagged<Word>> merged(const Runs<Word>& runs, Order order = {}) {
  LoserTree<const Tagged<Word>*, Order> tree(cursors_of(runs), order);
  std::vector<Tagged<Word>> out;
  tree.merge(std::back_inserter(out), std::numeric_limits<std::size_t>::max());
  EXPECT_TRUE(tree.empty());
  return out;
}

template <class Word>
class LoserTreeOfWords : public testing::Test {};
using Words = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(LoserTreeOfWords, Words);

TYPED_TEST(LoserTreeOfWords, merges_stably_for_every_number_of_runs) {
  Random random(1);
  for (std::size_t k = 0; k <= 50; ++k) {
    for (const std::uint64_t distinct : {1, 2, 10, 1000000}) {
      const Runs<TypeParam> runs = random_runs<TypeParam>(k, distinct, random);
      EXPECT_EQ(merged<TaggedOrder<TypeParam>>(runs), stably_sorted(runs)) << k << " runs";
    }
  }
}

TYPED_TEST(LoserTreeOfWords, merges_more_runs_than_levels_are_unrolled) {
  Random random(2);
  for (const std::size_t k : {340u, 512u, 513u, 1500u}) {
    const Runs<TypeParam> runs = random_runs<TypeParam>(k, 5000, random);
    EXPECT_EQ(merged<TaggedOrder<TypeParam>>(runs), stably_sorted(runs)) << k << " runs";
  }
}

TYPED_TEST(LoserTreeOfWords, needs_no_key_that_records_may_not_have) {
  const TypeParam largest = std::numeric_limits<TypeParam>::max();
  const std::vector<std::vector<TypeParam>> runs{{}, {largest, largest}, {0, largest}, {}, {0}};
  LoserTree<const TypeParam*, WordOrder<TypeParam>> tree(cursors_of(runs));
  std::vector<TypeParam> out;
  EXPECT_EQ(tree.merge(std::back_inserter(out), 100), 5u);
  EXPECT_EQ(out, (std::vector<TypeParam>{0, 0, largest, largest, largest}));
}

TEST(LoserTree, of_no_records_is_empty) {
  for (const std::size_t k : {0u, 1u, 7u}) {
    const Runs<std::uint64_t> runs(k);
    LoserTree<const Tagged<std::uint64_t>*, TaggedOrder<std::uint64_t>> tree(cursors_of(runs));
    EXPECT_TRUE(tree.empty());
    Tagged<std::uint64_t> out;
    EXPECT_EQ(tree.merge(&out, 1), 0u);
  }
}

TEST(LoserTree, goes_on_where_it_stopped) {
  Random random(3);
  const Runs<std::uint64_t> runs = random_runs<std::uint64_t>(20, 50, random);
  const std::vector<Tagged<std::uint64_t>> expected = stably_sorted(runs);
  LoserTree<const Tagged<std::uint64_t>*, TaggedOrder<std::uint64_t>> tree(cursors_of(runs));
  std::vector<Tagged<std::uint64_t>> out(expected.size());
  std::size_t done = 0;
  while (!tree.empty()) {
    const std::size_t count = std::min<std::size_t>(random.below(30), out.size() - done);
    EXPECT_EQ(tree.merge(out.begin() + static_cast<std::ptrdiff_t>(done), count), count);
    done += count;
  }
  EXPECT_EQ(out, expected);
}

TEST(LoserTree, two_merges_side_by_side_are_as_if_alone) {
  using Tree = LoserTree<const Tagged<std::uint64_t>*, TaggedOrder<std::uint64_t>>;
  Random random(7);
  for (int i = 0; i < 200; ++i) {
    const auto runs_a = random_runs<std::uint64_t>(random.below(12), 20, random);
    const auto runs_b = random_runs<std::uint64_t>(random.below(12), 20, random);
    Tree a(cursors_of(runs_a));
    Tree b(cursors_of(runs_b));
    const auto all_a = stably_sorted(runs_a);
    const auto all_b = stably_sorted(runs_b);
    std::vector<Tagged<std::uint64_t>> out_a(all_a.size());
    std::vector<Tagged<std::uint64_t>> out_b(all_b.size());
    const std::size_t part_a = random.below(all_a.size() + 1);
    const std::size_t part_b = random.below(all_b.size() + 1);
    EXPECT_EQ(Tree::merge_side_by_side(a, out_a.data(), part_a, b, out_b.data(), part_b),
              std::pair(part_a, part_b));
    EXPECT_EQ(
        Tree::merge_side_by_side(a, out_a.data() + part_a, 1000, b, out_b.data() + part_b, 1000),
        std::pair(all_a.size() - part_a, all_b.size() - part_b));
    EXPECT_EQ(out_a, all_a);
    EXPECT_EQ(out_b, all_b);
    EXPECT_TRUE(a.empty() && b.empty());
  }
}

TEST(LoserTree, compares_records_where_words_tie) {
  Random random(4);
  for (std::size_t k = 1; k <= 50; ++k) {
    for (const std::uint64_t distinct : {3, 100}) {
      const Runs<std::uint64_t> runs = random_runs<std::uint64_t>(k, distinct, random);
      EXPECT_EQ(merged<SplitOrder>(runs), stably_sorted(runs)) << k << " runs";
    }
  }
}

TEST(LoserTree, merges_by_any_comparator) {
  const auto by_key = [](const Tagged<std::uint64_t>& a, const Tagged<std::uint64_t>& b) {
    return a.key < b.key;
  };
  Random random(5);
  for (std::size_t k = 1; k <= 50; ++k) {
    const Runs<std::uint64_t> runs = random_runs<std::uint64_t>(k, 20, random);
    EXPECT_EQ(merged(runs, ComparatorOrder{by_key}), stably_sorted(runs)) << k << " runs";
  }
}

TEST(LoserTree, merges_records_of_any_type) {
  const std::vector<std::vector<std::string>> runs{{"pear", "plum"}, {"apple", "quince"}, {"fig"}};
  const ComparatorOrder order{std::less<std::string>()};
  LoserTree<const std::string*, ComparatorOrder<std::less<std::string>>> tree(cursors_of(runs),
                                                                              order);
  std::vector<std::string> out;
  tree.merge(std::back_inserter(out), 10);
  EXPECT_EQ(out, (std::vector<std::string>{"apple", "fig", "pear", "plum", "quince"}));
}

// Hands out a run in blocks of a few records; one buffer a run, as when blocks come from a disk.
struct BlockRefill {
  const Runs<std::uint64_t>* runs;
  std::vector<std::vector<Tagged<std::uint64_t>>>* buffers;
  std::vector<std::size_t>* given;
  static constexpr std::size_t kBlock = 3;

  bool operator()(std::uint32_t run, RunCursor<const Tagged<std::uint64_t>*>& cursor) const {
    const auto& records = (*runs)[run];
    std::size_t& at = (*given)[run];
    const std::size_t count = std::min(kBlock, records.size() - at);
    if (count == 0) return false;
    auto& buffer = (*buffers)[run];
    const auto first = records.begin() + static_cast<std::ptrdiff_t>(at);
    buffer.assign(first, first + static_cast<std::ptrdiff_t>(count));
    at += count;
    cursor = {buffer.data(), buffer.data() + count};
    return true;
  }
};

TEST(LoserTree, takes_runs_in_blocks) {
  Random random(6);
  for (const std::size_t k : {1u, 2u, 5u, 33u}) {
    const Runs<std::uint64_t> runs = random_runs<std::uint64_t>(k, 30, random);
    std::vector<std::vector<Tagged<std::uint64_t>>> buffers(k);
    std::vector<std::size_t> given(k, 0);
    using Cursor = RunCursor<const Tagged<std::uint64_t>*>;
    LoserTree<const Tagged<std::uint64_t>*, TaggedOrder<std::uint64_t>, BlockRefill> tree(
        std::vector<Cursor>(k, Cursor{nullptr, nullptr}), {}, {&runs, &buffers, &given});
    std::vector<Tagged<std::uint64_t>> out;
    tree.merge(std::back_inserter(out), std::numeric_limits<std::size_t>::max());
    EXPECT_EQ(out, stably_sorted(runs)) << k << " runs";
  }
}

}  // namespace
}  // namespace xxl
