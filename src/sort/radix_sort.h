// Stable radix sort of cache-sized pieces, for records that are their own key or carry it in front.
//
// A comparison sort pays for every bit of order with a branch; a plain radix sort pays for every
// bit of the key, needed or not. This one sorts by the few leading bits that tell most keys apart:
//
//   1. One read finds whether the items are in order already (done), and the highest bit in which
//      any two keys differ. Everything above it is the same in all keys and is left out: pieces cut
//      out of a larger sort share most of their leading bits.
//   2. The next log2(n) + kSpareBits bits below are sorted by two stable counting passes, lower
//      digit first, from items to scratch and back. Both histograms are taken in one read.
//   3. A last read looks for keys that are still out of order. They can only be in a group of keys
//      equal in all bits sorted so far. A key that belongs a few places further in front is
//      inserted there; if it is more, its whole group is sorted by the same algorithm, on the bits
//      in which the keys of the group differ.
//
// Example: 4 items, 2 + 3 bits wanted, keys 0x1230, 0x1271, 0x1272, 0x1240. They differ in 0x73,
// the highest in bit 6; bits 6..2 are sorted by in two digits, which puts 0x1230 and 0x1240 in
// front; 0x1271 and 0x1272 agree in these bits and are in order by luck: nothing is left to do.
//
// More items than caches hold are first divided by their leading bits, into parts that fit: memory
// is passed over twice instead of six times.
//
// Uniform keys have about one neighbour in 2^kSpareBits equal in these bits. Any input is sorted in
// O(n * key bits / log n): each level of recursion takes off log2(group) bits at least, and groups
// of equal keys end the recursion, since they are in order.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "base/error.h"

namespace xxl {

namespace radix_sort_detail {

inline constexpr std::size_t kInsertionItems = 24;  // up to here insertion sort is faster
inline constexpr int kSpareBits = 3;  // bits beyond log2(n): one key in 8 shares its place
inline constexpr int kMaxDigitBits =
    11;  // counters of both digits fit in half of a 32 KiB L1 cache
// Items are divided first if they take more bytes, into parts of about so many.
inline constexpr std::size_t kDividedBytes = std::size_t{3} << 20;
inline constexpr std::size_t kPartBytes = std::size_t{1} << 19;

template <class Item, class KeyOf>
void insertion_sort(Item* items, std::size_t n, KeyOf key) {
  for (std::size_t i = 1; i < n; ++i) {
    const Item item = items[i];
    const auto k = key(item);
    std::size_t place = i;
    for (; place > 0 && key(items[place - 1]) > k; --place) items[place] = items[place - 1];
    items[place] = item;
  }
}

// Turns the first `digits` counts into the places where each digit's items start.
inline void exclusive_sum(std::uint32_t* counts, std::size_t digits) {
  std::uint32_t sum = 0;
  for (std::size_t d = 0; d < digits; ++d) {
    const std::uint32_t count = counts[d];
    counts[d] = sum;
    sum += count;
  }
}

// Moves from[0, n) to `to`, each to the next place of its digit. Four at a time: their digits are
// worked out before the first of the stores, which the compiler must take in order.
template <class Item, class DigitOf>
void scatter(const Item* __restrict from, std::size_t n, Item* __restrict to,
             std::uint32_t* __restrict places, DigitOf digit) {
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const Item item[4] = {from[i], from[i + 1], from[i + 2], from[i + 3]};
    const std::size_t d[4] = {digit(item[0]), digit(item[1]), digit(item[2]), digit(item[3])};
    for (int j = 0; j < 4; ++j) to[places[d[j]]++] = item[j];
  }
  for (; i < n; ++i) to[places[digit(from[i])]++] = from[i];
}

}  // namespace radix_sort_detail

template <class Item, class KeyOf>
void radix_sort(std::span<Item> items, std::span<Item> scratch, KeyOf key);

namespace radix_sort_detail {

// Divides items that differ in their last `top` bits only by the leading ones of these, into
// scratch, sorts the parts there, and brings them back while they are in the cache.
template <class Item, class KeyOf>
void sort_divided(std::span<Item> items, std::span<Item> scratch, KeyOf key, int top) {
  using Key = std::invoke_result_t<KeyOf, const Item&>;
  const std::size_t n = items.size();
  const auto wanted = static_cast<int>(std::bit_width(n * sizeof(Item) / kPartBytes));
  const int bits = std::min({top, wanted, kMaxDigitBits});
  const std::size_t digits = std::size_t{1} << bits;
  const auto digit = [shift = top - bits, mask = static_cast<Key>(digits - 1),
                      key](const Item& item) { return (key(item) >> shift) & mask; };
  std::vector<std::uint32_t> ends(digits);
  for (const Item& item : items) ++ends[digit(item)];
  exclusive_sum(ends.data(), digits);
  scatter(items.data(), n, scratch.data(), ends.data(), digit);
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    const auto part = scratch.subspan(begin, end - begin);
    radix_sort(part, items.subspan(begin, end - begin), key);
    std::copy(part.begin(), part.end(), items.begin() + static_cast<std::ptrdiff_t>(begin));
    begin = end;
  }
}

}  // namespace radix_sort_detail

// Sorts `items` by key(item), an unsigned number, stably. `scratch` holds at least as many items
// and is left with any content. At most 2^32 - 1 items; Item is trivially copyable.
template <class Item, class KeyOf>
void radix_sort(std::span<Item> items, std::span<Item> scratch, KeyOf key) {
  using Key = std::invoke_result_t<KeyOf, const Item&>;
  using namespace radix_sort_detail;
  static_assert(std::is_unsigned_v<Key> && sizeof(Key) >= 4);
  static_assert(std::is_trivially_copyable_v<Item>);
  constexpr std::size_t kMaxDigits = std::size_t{1} << kMaxDigitBits;

  const std::size_t n = items.size();
  Item* const a = items.data();
  Item* const b = scratch.data();
  XXL_CHECK(scratch.size() >= n && n <= UINT32_MAX);
  if (n <= kInsertionItems) return insertion_sort(a, n, key);

  std::size_t ordered = 1;
  while (ordered < n && key(a[ordered - 1]) <= key(a[ordered])) ++ordered;
  if (ordered == n) return;
  const Key first = key(a[0]);
  Key differing = 0;
  for (std::size_t i = 0; i < n; ++i) differing |= key(a[i]) ^ first;

  const int top = static_cast<int>(std::bit_width(differing));  // bits [0, top) matter
  if (n * sizeof(Item) > kDividedBytes) return sort_divided(items, scratch, key, top);
  const int wanted = static_cast<int>(std::bit_width(n - 1)) + kSpareBits;
  int bits = std::min({top, wanted, 2 * kMaxDigitBits});
  if (top <= std::min(bits + 2, 2 * kMaxDigitBits)) bits = top;  // cheaper than a search for ties
  const int shift = top - bits;
  const int high_shift = shift + bits / 2;
  const Key low_mask = (Key{1} << (bits / 2)) - 1;
  const Key high_mask = (Key{1} << (bits - bits / 2)) - 1;
  const auto low_digit = [=](const Item& item) { return (key(item) >> shift) & low_mask; };
  const auto high_digit = [=](const Item& item) { return (key(item) >> high_shift) & high_mask; };

  std::uint32_t low_places[kMaxDigits], high_places[kMaxDigits];
  std::fill_n(low_places, low_mask + 1, 0);
  std::fill_n(high_places, high_mask + 1, 0);
  for (std::size_t i = 0; i < n; ++i) {
    ++low_places[low_digit(a[i])];
    ++high_places[high_digit(a[i])];
  }
  exclusive_sum(low_places, low_mask + 1);
  exclusive_sum(high_places, high_mask + 1);
  scatter(a, n, b, low_places, low_digit);
  scatter(b, n, a, high_places, high_digit);
  if (shift == 0) return;

  for (std::size_t i = 1; i < n; ++i) {
    if (key(a[i - 1]) <= key(a[i])) continue;
    // a[i] belongs earlier in its group. Insert it, unless that is a long way.
    const Item item = a[i];
    const Key k = key(item);
    const std::size_t stop = i - std::min(i, kInsertionItems);
    std::size_t place = i;
    do {
      a[place] = a[place - 1];
      --place;
    } while (place > stop && key(a[place - 1]) > k);
    a[place] = item;
    if (place > stop || stop == 0) continue;

    const Key group = k >> shift;
    std::size_t begin = place;
    while (begin > 0 && key(a[begin - 1]) >> shift == group) --begin;
    std::size_t end = i + 1;
    while (end < n && key(a[end]) >> shift == group) ++end;
    radix_sort(items.subspan(begin, end - begin), scratch.subspan(begin, end - begin), key);
    i = end;
  }
}

}  // namespace xxl
