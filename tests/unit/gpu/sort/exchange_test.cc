// The plan of the exchange between devices: cases by hand, and random ones carried out on arrays.
#include "gpu/sort/exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace xxl::gpu {
namespace {

using Fragments = std::vector<Fragment>;
using Swaps = std::vector<Swap>;

// Pieces on devices, one item of which is its key and where it came from.
struct Item {
  int key;
  std::size_t piece;
  std::uint64_t at;

  friend auto operator<=>(const Item&, const Item&) = default;
};

struct Pieces {
  std::vector<std::size_t> devices;       // of each
  std::vector<std::vector<Item>> memory;  // what lies where each piece was at first

  void add(std::size_t device, std::string keys) {
    std::sort(keys.begin(), keys.end());
    std::vector<Item> items;
    for (const char key : keys) items.push_back({key, memory.size(), items.size()});
    devices.push_back(device);
    memory.push_back(std::move(items));
  }

  Fragments fragments() const {
    Fragments all;
    for (std::size_t i = 0; i < memory.size(); ++i) {
      all.push_back({i, 0, memory[i].size(), {devices[i], i, 0}});
    }
    order_fragments(all);
    return all;
  }

  Item& at(const ItemPlace& place) { return memory.at(place.piece).at(place.item); }

  // As Stream::cut does it.
  std::vector<std::uint64_t> cut(const Fragments& sequences, std::uint64_t rank) {
    std::vector<std::pair<Item, std::size_t>> all;
    for (std::size_t s = 0; s < sequences.size(); ++s) {
      for (std::uint64_t i = 0; i < sequences[s].count; ++i) {
        all.emplace_back(at(sequences[s].place + i), s);
      }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.first.key < b.first.key; });
    std::vector<std::uint64_t> cuts(sequences.size(), 0);
    for (std::uint64_t i = 0; i < rank; ++i) ++cuts[all[i].second];
    return cuts;
  }

  void run(const std::vector<std::vector<Swap>>& parts) {
    for (std::size_t device = 0; device < parts.size(); ++device) {
      for (const Swap& swap : parts[device]) {
        EXPECT_TRUE(swap.left.device == device || swap.right.device == device);
        for (std::uint64_t i = 0; i < swap.count; ++i) {
          std::swap(at(swap.left + i), at(swap.right + i));
        }
      }
    }
  }

  // Halves [first, end) down to single devices; leaves what each holds in `held`.
  void exchange(std::size_t first, std::size_t end, const Fragments& group, std::size_t devices,
                std::vector<Fragments>& held) {
    if (end - first == 1) {
      held[first] = group;
      return;
    }
    const std::size_t middle = first + (end - first) / 2;
    const Halving halving = halve(group, cut(group, items_before(group, middle)), middle);
    run(deal_swaps(halving.swaps, devices, 5));
    exchange(first, middle, halving.left, devices, held);
    exchange(middle, end, halving.right, devices, held);
  }
};

TEST(Exchange, swaps_what_is_on_the_wrong_side_of_the_cut) {
  // The example of exchange.h.
  Pieces pieces;
  pieces.add(0, "aacddf");
  pieces.add(1, "bcehh");
  pieces.add(0, "abeg");
  pieces.add(1, "abfg");
  const Fragments all = pieces.fragments();
  ASSERT_EQ(items_before(all, 1), 10u);
  const auto cuts = pieces.cut(all, 10);
  EXPECT_EQ(cuts, (std::vector<std::uint64_t>{4, 2, 2, 2}));
  const Halving halving = halve(all, cuts, 1);
  EXPECT_EQ(halving.swaps, (Swaps{{{0, 0, 4}, {1, 1, 0}, 2}, {{0, 2, 2}, {1, 3, 0}, 2}}));
  EXPECT_EQ(
      halving.left,
      (Fragments{
          {0, 0, 4, {0, 0, 0}}, {1, 0, 2, {0, 0, 4}}, {2, 0, 2, {0, 2, 0}}, {3, 0, 2, {0, 2, 2}}}));
  EXPECT_EQ(
      halving.right,
      (Fragments{
          {0, 4, 2, {1, 1, 0}}, {1, 2, 3, {1, 1, 2}}, {2, 2, 2, {1, 3, 0}}, {3, 2, 2, {1, 3, 2}}}));
}

TEST(Exchange, a_swap_ends_where_a_fragment_of_either_side_ends) {
  Pieces pieces;
  pieces.add(0, "zzzzz");
  pieces.add(1, "aa");
  pieces.add(1, "bbb");
  const Fragments all = pieces.fragments();
  const Halving halving = halve(all, pieces.cut(all, 5), 1);
  EXPECT_EQ(halving.swaps, (Swaps{{{0, 0, 0}, {1, 1, 0}, 2}, {{0, 0, 2}, {1, 2, 0}, 3}}));
  EXPECT_EQ(halving.left, (Fragments{{1, 0, 2, {0, 0, 0}}, {2, 0, 3, {0, 0, 2}}}));
  EXPECT_EQ(halving.right, (Fragments{{0, 0, 2, {1, 1, 0}}, {0, 2, 3, {1, 2, 0}}}));
}

TEST(Exchange, leaves_what_is_in_place) {
  Pieces pieces;
  pieces.add(0, "aab");
  pieces.add(1, "bbc");
  const Fragments all = pieces.fragments();
  const Halving halving = halve(all, pieces.cut(all, 3), 1);
  EXPECT_TRUE(halving.swaps.empty());
  EXPECT_EQ(halving.left, (Fragments{all[0]}));
  EXPECT_EQ(halving.right, (Fragments{all[1]}));
}

TEST(Exchange, a_half_may_be_empty) {
  Pieces pieces;
  pieces.add(1, "ab");
  const Fragments all = pieces.fragments();
  const std::vector<std::uint64_t> none{0}, everything{2};
  EXPECT_EQ(halve(all, none, 1).right, all);
  EXPECT_TRUE(halve(all, none, 1).left.empty());
  EXPECT_EQ(halve(all, everything, 2).left, all);
  EXPECT_TRUE(halve({}, {}, 1).swaps.empty());
}

TEST(Exchange, devices_of_the_same_place_in_their_halves_swap_first) {
  Pieces pieces;
  for (const std::size_t device : {3, 2, 1, 0}) pieces.add(device, device < 2 ? "zz" : "aa");
  const Fragments all = pieces.fragments();
  const Halving halving = halve(all, pieces.cut(all, 4), 2);
  EXPECT_EQ(halving.swaps, (Swaps{{{0, 3, 0}, {2, 1, 0}, 2}, {{1, 2, 0}, {3, 0, 0}, 2}}));
}

TEST(Exchange, neighbours_in_piece_and_memory_become_one_fragment) {
  Fragments fragments{{1, 0, 4, {0, 1, 0}},
                      {0, 5, 2, {0, 0, 5}},
                      {0, 0, 5, {0, 0, 0}},
                      {0, 7, 0, {0, 0, 7}},
                      {1, 4, 1, {0, 1, 9}}};
  order_fragments(fragments);
  EXPECT_EQ(fragments,
            (Fragments{{0, 0, 7, {0, 0, 0}}, {1, 0, 4, {0, 1, 0}}, {1, 4, 1, {0, 1, 9}}}));
}

TEST(Exchange, deals_swaps_evenly_to_both_sides_in_stretches_that_fit_the_buffer) {
  const Swaps swaps{{{0, 0, 10}, {1, 1, 20}, 100000}, {{0, 2, 0}, {1, 3, 0}, 1}};
  const auto parts = deal_swaps(swaps, 2, 30000);
  std::uint64_t load[2] = {0, 0};
  std::map<std::uint64_t, std::uint64_t> covered;  // of the first swap: from, count
  for (const std::size_t device : {0, 1}) {
    for (const Swap& swap : parts[device]) {
      EXPECT_LE(swap.count, 30000u);
      load[device] += swap.count;
      if (swap.left.piece != 0) continue;
      EXPECT_EQ(swap.left.item + 10, swap.right.item);
      covered[swap.left.item] = swap.count;
    }
  }
  std::uint64_t at = 10;
  for (const auto& [from, count] : covered) {
    EXPECT_EQ(from, at);
    at += count;
  }
  EXPECT_EQ(at, 100010u);
  EXPECT_EQ(load[0] + load[1], 100001u);
  EXPECT_LE(std::max(load[0], load[1]), 60001u);
}

TEST(Exchange, gives_each_device_its_range_of_ranks_and_keeps_the_order_of_equal_keys) {
  std::mt19937 random(1);
  for (int repeat = 0; repeat < 600; ++repeat) {
    const std::size_t devices = 1 + random() % 9;
    const std::size_t piece_count = random() % 20;
    const int keys = 1 << random() % 6;
    Pieces pieces;
    std::vector<Item> expected;
    std::vector<std::size_t> sizes(devices, 0);
    for (std::size_t p = 0; p < piece_count; ++p) {
      std::string text(random() % 30, ' ');
      for (char& c : text) c = static_cast<char>('0' + random() % keys);
      const std::size_t device = repeat % 2 == 0 ? p % devices : random() % devices;
      pieces.add(device, text);
      sizes[device] += text.size();
      expected.insert(expected.end(), pieces.memory.back().begin(), pieces.memory.back().end());
    }
    std::sort(expected.begin(), expected.end());
    std::vector<Fragments> held(devices);
    pieces.exchange(0, devices, pieces.fragments(), devices, held);
    std::size_t rank = 0;
    for (std::size_t device = 0; device < devices; ++device) {
      std::vector<Item> items;
      for (const Fragment& fragment : held[device]) {
        EXPECT_EQ(fragment.place.device, device);
        EXPECT_EQ(pieces.devices[fragment.place.piece], device);
        for (std::uint64_t i = 0; i < fragment.count; ++i) {
          const Item& item = pieces.at(fragment.place + i);
          EXPECT_EQ(std::tie(item.piece, item.at),
                    std::make_tuple(fragment.piece, fragment.first + i));
          items.push_back(item);
        }
      }
      ASSERT_EQ(items.size(), sizes[device]);
      std::stable_sort(items.begin(), items.end(),
                       [](const Item& a, const Item& b) { return a.key < b.key; });
      for (const Item& item : items) ASSERT_EQ(item, expected[rank++]);
    }
    ASSERT_EQ(rank, expected.size());
  }
}

TEST(Exchange, makes_few_fragments_of_even_data) {
  std::mt19937 random(2);
  Pieces pieces;
  for (std::size_t p = 0; p < 8 * 24; ++p) {
    std::string text(60, ' ');
    for (char& c : text) c = static_cast<char>('0' + random() % 75);
    pieces.add(p % 8, text);
  }
  std::vector<Fragments> held(8);
  pieces.exchange(0, 8, pieces.fragments(), 8, held);
  for (const Fragments& fragments : held) EXPECT_LE(fragments.size(), 4 * pieces.memory.size());
}

}  // namespace
}  // namespace xxl::gpu
