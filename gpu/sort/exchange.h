// Which device swaps what with which when devices swap halves (MultiGpu::p2p_merge): the plan,
// without any device.
//
// Devices hold sorted pieces. For a group of devices, halved into L and R, the items of all pieces
// are cut at the rank that is the number of items L holds. Of each piece (or what is left of it)
// the items before the cut belong to L, those after it to R; items on the wrong side are swapped
// one by one:
//
//     L   piece 0   a a c d|d f        leave L   d f  e g
//         piece 2   a b|e g                      | |  | |
//     R   piece 1   b c|e h h          leave R   b c  a b
//         piece 3   a b|f g
//
// (Rank 10 of 19. Of equal items the one of the earlier piece comes first: so the d's of piece 0
// are split, but no item of piece 1 is before the cut unless its equals in piece 0 are. Both sides
// give as many items as they get, since as many belong to L as it holds.) Then both halves do the
// same among themselves, until each device holds the items of one range of ranks, in fragments of
// pieces.
//
// After P2P sort (Maltenberger, Ilic, Tolovski, Rabl: Evaluating Multi-GPU Sorting with Modern
// Interconnects, section 5.2): pivot, swap, recursion. Their algorithm 2 merges both halves before
// and after it swaps between them, which takes g = 2^k devices and g - 1 stages. Here one cut goes
// through any number of sequences: there is one stage for each level, on any number of devices, and
// nothing is merged before the end. Swapping in place, not to a second array, takes no memory but a
// buffer; the price is that pieces fall into fragments: if a group has F, a half of it then has
// less than 2 F, and on even data 1.5 F.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace xxl::gpu {

// A place of items: `item` items after the beginning of the memory that piece `piece` had at first,
// on device `device`.
struct ItemPlace {
  std::size_t device = 0;
  std::size_t piece = 0;
  std::uint64_t item = 0;

  ItemPlace operator+(std::uint64_t items) const { return {device, piece, item + items}; }
  friend bool operator==(const ItemPlace&, const ItemPlace&) = default;
};

// Consecutive items of a sorted piece.
struct Fragment {
  std::size_t piece = 0;    // numbered in the order of input
  std::uint64_t first = 0;  // item of the piece it begins with
  std::uint64_t count = 0;  // items
  ItemPlace place;

  friend bool operator==(const Fragment&, const Fragment&) = default;
};

// `count` items at each of two places, on different devices, are to be swapped.
struct Swap {
  ItemPlace left;
  ItemPlace right;
  std::uint64_t count = 0;

  friend bool operator==(const Swap&, const Swap&) = default;
};

// The swaps of the halves of a group, and what they hold afterwards.
struct Halving {
  std::vector<Swap> swaps;  // no place is in two of them
  std::vector<Fragment> left;
  std::vector<Fragment> right;
};

// Fragments are kept in the order of pieces, and those of one piece by their first items: the order
// in which Stream::cut takes sequences and in which equal items come out. This puts them into that
// order, and joins neighbours that are also neighbours in memory.
void order_fragments(std::vector<Fragment>& fragments);

// Items of the fragments that lie on devices before `middle`: the rank at which they are cut.
std::uint64_t items_before(std::span<const Fragment> fragments, std::size_t middle);

// Halves a group. `fragments`: all that its devices hold, in order. `cuts`: of each, how many of
// its items are among the first items_before(fragments, middle) of all. `middle`: the first device
// of the right half. If everything is in place there are no swaps (in the paper: the leftmost pivot
// is 0).
Halving halve(std::span<const Fragment> fragments, std::span<const std::uint64_t> cuts,
              std::size_t middle);

// Assigns the swaps: entry [device] of the result is its part, for `devices` devices. Swaps are
// divided into parts of at most `most_items` and dealt so that both sides of each copy about as
// much, at the same time: so links carry in both directions.
std::vector<std::vector<Swap>> deal_swaps(std::span<const Swap> swaps, std::size_t devices,
                                          std::uint64_t most_items);

}  // namespace xxl::gpu
