// Stable radix sort of cache-sized pieces, for records that are their own key or carry it in front.
//
// A comparison sort pays for every bit of order with a branch; a plain radix sort pays for every
// bit of the key, needed or not. This one sorts by the leading bits that tell most keys apart:
//
//   1. One read finds whether the items are in order already (done), and the highest bit in which
//      any two keys differ. Everything above it is the same in all keys and is left out: pieces cut
//      out of a larger sort share most of their leading bits.
//   2. Of uniform keys, the next log2(n) + kSpareBits bits tell most apart. Of others, a sample
//      says how many more are needed: floating-point numbers around zero have few exponents. If
//      most of the sample shares its leading bits, the few keys that do not are split off first,
//      so that the rest is sorted by bits that matter.
//      Numbers of few bits are counted instead, if they are all of the item.
//   3. These bits are sorted by in one to three stable counting passes, lower digit first, between
//      items and scratch. All histograms are taken in one read. A pass takes items from both ends,
//      since where many digits are equal each store waits for the one before.
//   4. A last read looks for keys that are still out of order. They can only be in a group of keys
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
// O(n * key bits / log n): each level of recursion takes off log2(group) bits at least, or splits
// off keys by a longer prefix, and groups of equal keys end the recursion, since they are in order.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"

namespace xxl {

namespace radix_sort_detail {

inline constexpr std::size_t kInsertionItems = 24;  // up to here insertion sort is faster
inline constexpr int kSpareBits = 3;  // bits beyond log2(n): one key in 8 shares its place
inline constexpr int kMaxDigitBits = 11;
inline constexpr int kMaxDigits = 3;
// What a sample says costs about as much as sorting a hundred items.
inline constexpr std::size_t kLeastSampledItems = 1024;
inline constexpr std::size_t kSample = 128;
inline constexpr int kSampledBits = 8;  // that its keys are compared by
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

// Moves from[0, n) to `to`, each to its digit's place: from the front to starts[digit], which goes
// up, and from the back to the place before ends[digit], which goes down.
template <class Item, class DigitOf>
void scatter(const Item* __restrict from, std::size_t n, Item* __restrict to,
             std::uint32_t* __restrict starts, std::uint32_t* __restrict ends, DigitOf digit) {
  std::size_t front = 0, back = n;
  for (; front + 4 <= back; front += 2, back -= 2) {
    const Item item[4] = {from[front], from[back - 1], from[front + 1], from[back - 2]};
    const std::size_t d[4] = {digit(item[0]), digit(item[1]), digit(item[2]), digit(item[3])};
    to[starts[d[0]]++] = item[0];
    to[--ends[d[1]]] = item[1];
    to[starts[d[2]]++] = item[2];
    to[--ends[d[3]]] = item[3];
  }
  for (; front < back; ++front) to[starts[digit(from[front])]++] = from[front];
}

// How often digits come, and then where the items of each start and end.
struct DigitPlaces {
  std::uint32_t starts[std::size_t{1} << kMaxDigitBits];
  std::uint32_t ends[std::size_t{1} << kMaxDigitBits];

  void clear(std::size_t digits) {
    std::fill_n(starts, digits, 0);
    std::fill_n(ends, digits, 0);
  }
  void sum_up(std::size_t digits) {
    std::uint32_t sum = 0;
    for (std::size_t d = 0; d < digits; ++d) {
      const std::uint32_t count = starts[d] + ends[d];
      starts[d] = sum;
      sum += count;
      ends[d] = sum;
    }
  }
};

// Sorts a[0, n) by bits [shift, shift + bits) of the keys, with the help of `b`.
template <int kDigits, class Item, class KeyOf>
void sort_by_digits(Item* a, Item* b, std::size_t n, KeyOf key, int shift, int bits) {
  using Key = std::invoke_result_t<KeyOf, const Item&>;
  DigitPlaces places[kDigits];
  int low[kDigits];
  Key mask[kDigits];
  for (int d = 0; d < kDigits; ++d) {
    low[d] = shift + bits * d / kDigits;
    mask[d] = (Key{1} << (shift + bits * (d + 1) / kDigits - low[d])) - 1;
    places[d].clear(mask[d] + 1);
  }
  // Two counts of each digit, for the same reason as two ends.
  std::size_t i = 0;
  for (; i + 2 <= n; i += 2) {
    const Key x = key(a[i]), y = key(a[i + 1]);
    for (int d = 0; d < kDigits; ++d) {
      ++places[d].starts[x >> low[d] & mask[d]];
      ++places[d].ends[y >> low[d] & mask[d]];
    }
  }
  for (; i < n; ++i) {
    for (int d = 0; d < kDigits; ++d) ++places[d].starts[key(a[i]) >> low[d] & mask[d]];
  }
  Item* from = a;
  Item* to = b;
  for (int d = 0; d < kDigits; ++d) {
    places[d].sum_up(mask[d] + 1);
    scatter(
        from, n, to, places[d].starts, places[d].ends,
        [low = low[d], mask = mask[d], key](const Item& item) { return key(item) >> low & mask; });
    std::swap(from, to);
  }
  if (from != a) std::copy(from, from + n, a);
}

// What a sample of keys says of how to sort items.
template <class Key>
struct Sampled {
  int bits;  // that tell most apart; 0: as many as of uniform keys
  // Most keys have this prefix above their last `middle` bits, where that is less than all.
  int middle;
  Key prefix{};
};

template <class Item, class KeyOf>
auto sample(std::span<const Item> items, KeyOf key, int top) {
  using Key = std::invoke_result_t<KeyOf, const Item&>;
  constexpr std::uint32_t kPairs = kSample * (kSample - 1) / 2;
  Sampled<Key> result{.bits = 0, .middle = top};
  Key keys[kSample];
  std::uint8_t seen[std::size_t{1} << kSampledBits] = {};
  std::uint32_t equal = 0;  // pairs
  const int shift = std::max(top - kSampledBits, 0);
  for (std::size_t i = 0; i < kSample; ++i) {
    keys[i] = key(items[i * (items.size() / kSample)]);
    equal += seen[keys[i] >> shift & ((Key{1} << kSampledBits) - 1)]++;
  }
  if (equal < 2 * (kPairs >> kSampledBits)) return result;

  std::sort(keys, keys + kSample);
  const Key low = keys[kSample / 64], high = keys[kSample - 1 - kSample / 64];
  result.middle = std::min(static_cast<int>(std::bit_width(static_cast<Key>(low ^ high))), top);
  if (result.middle < top) result.prefix = low >> result.middle;
  int differing[kSample];  // the highest bit in which neighbours differ
  std::size_t different = 0;
  for (std::size_t i = 1; i < kSample; ++i) {
    if (keys[i] == keys[i - 1]) continue;
    differing[different++] =
        static_cast<int>(std::bit_width(static_cast<Key>(keys[i] ^ keys[i - 1])));
  }
  int* const median = differing + different / 2;
  std::nth_element(differing, median, differing + different);
  const bool are_few = different < kSample / 2;  // keys, each of which comes often
  result.bits = top - *median + kSpareBits +
                (are_few ? 0 : static_cast<int>(std::bit_width(items.size() / kSample)));
  return result;
}

// Sorts numbers that differ in their last `top` bits only, by counting.
template <class Key>
void sort_by_counts(Key* numbers, std::size_t n, int top) {
  constexpr std::size_t kTables = 4;  // where one number is frequent, each count waits for the last
  std::uint32_t counts[kTables][std::size_t{1} << kMaxDigitBits];
  const std::size_t width = std::size_t{1} << top;
  for (auto& table : counts) std::fill_n(table, width, 0);
  const Key mask = static_cast<Key>(width - 1);
  std::size_t i = 0;
  for (; i + kTables <= n; i += kTables) {
    for (std::size_t t = 0; t < kTables; ++t) ++counts[t][numbers[i + t] & mask];
  }
  for (; i < n; ++i) ++counts[0][numbers[i] & mask];
  Key number = numbers[0] & static_cast<Key>(~mask);
  for (std::size_t d = 0; d < width; ++d, ++number) {
    std::uint32_t count = 0;
    for (const auto& table : counts) count += table[d];
    numbers = std::fill_n(numbers, count, number);
  }
}

}  // namespace radix_sort_detail

template <class Item, class KeyOf>
void radix_sort(std::span<Item> items, std::span<Item> scratch, KeyOf key, bool samples = true);

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
  const auto places = std::make_unique<DigitPlaces>();
  places->clear(digits);
  for (const Item& item : items) ++places->starts[digit(item)];
  places->sum_up(digits);
  const std::vector<std::uint32_t> ends(places->ends, places->ends + digits);
  scatter(items.data(), n, scratch.data(), places->starts, places->ends, digit);
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    const auto part = scratch.subspan(begin, end - begin);
    radix_sort(part, items.subspan(begin, end - begin), key);
    std::copy(part.begin(), part.end(), items.begin() + static_cast<std::ptrdiff_t>(begin));
    begin = end;
  }
}

// Splits off the items without the common prefix, and sorts these and the others.
template <class Item, class KeyOf, class Key>
void sort_apart(std::span<Item> items, std::span<Item> scratch, KeyOf key,
                const Sampled<Key>& sampled) {
  const std::size_t n = items.size();
  // Those with the prefix stay in front, those below it go to the front of scratch, and those above
  // it to the back, from the end on. Each is written to all three, of which one advances.
  std::size_t in = 0, below = 0, above = n;
  for (const Item item : items) {
    const Key prefix = key(item) >> sampled.middle;
    items[in] = scratch[below] = scratch[above - 1] = item;
    in += prefix == sampled.prefix ? 1 : 0;
    below += prefix < sampled.prefix ? 1 : 0;
    above -= prefix > sampled.prefix ? 1 : 0;
  }
  if (below > 0) std::copy_backward(items.begin(), items.begin() + in, items.begin() + below + in);
  std::copy(scratch.begin(), scratch.begin() + below, items.begin());
  std::reverse_copy(scratch.begin() + above, scratch.begin() + n, items.begin() + below + in);
  const bool was_right = in >= n / 2;
  const auto sort = [&](std::size_t first, std::size_t count, bool samples) {
    radix_sort(items.subspan(first, count), scratch.subspan(first, count), key, samples);
  };
  sort(0, below, was_right);
  sort(below, in, true);
  sort(below + in, n - below - in, was_right);
}

}  // namespace radix_sort_detail

// Sorts `items` by key(item), an unsigned number (of items that are one, the item), stably.
// `scratch` holds at least as many items and is left with any content. At most 2^32 - 1 items; Item
// is trivially copyable. `samples`: false where a sample was wrong.
template <class Item, class KeyOf>
void radix_sort(std::span<Item> items, std::span<Item> scratch, KeyOf key, bool samples) {
  using Key = std::invoke_result_t<KeyOf, const Item&>;
  using namespace radix_sort_detail;
  static_assert(std::is_unsigned_v<Key> && sizeof(Key) >= 4);
  static_assert(std::is_trivially_copyable_v<Item>);

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
  if constexpr (std::is_same_v<Item, Key>) {
    if (top <= kMaxDigitBits && n >> top > 0) return sort_by_counts(a, n, top);
  }
  int bits = std::min(top, static_cast<int>(std::bit_width(n - 1)) + kSpareBits);
  if (samples && top > kMaxDigitBits && n >= kLeastSampledItems) {
    const auto sampled = sample(std::span<const Item>(items), key, top);
    if (sampled.middle < top) return sort_apart(items, scratch, key, sampled);
    if (sampled.bits > 0) bits = std::min(top, sampled.bits);
  }
  // One pass only if there are no more digits than items.
  const int least = bits < static_cast<int>(std::bit_width(n)) ? 1 : 2;
  const int digits = std::clamp((bits + kMaxDigitBits - 1) / kMaxDigitBits, least, kMaxDigits);
  // Some bits more are cheaper than a search for ties.
  bits = top <= std::min(bits + 2, digits * kMaxDigitBits) ? top
                                                           : std::min(bits, digits * kMaxDigitBits);
  const int shift = top - bits;
  if (digits == 1) {
    sort_by_digits<1>(a, b, n, key, shift, bits);
  } else if (digits == 2) {
    sort_by_digits<2>(a, b, n, key, shift, bits);
  } else {
    sort_by_digits<3>(a, b, n, key, shift, bits);
  }
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
