// Sorting of records by keys of any length, in the memory of one worker.
//
// An item is 8 bytes of a key and the place of its record. Items are radix sorted by those 8 bytes;
// items that agree in them form a group, which is sorted on what follows:
//
//     depth 3     word                group of "brown"           next depth 12
//     the brown fox                   the brown fox     "fox"    compared only
//     the brown cow   "brown co.."    the brown cow     "cow"    within the group
//     the black dog   "black do"
//
// Where the keys of a large group have more in common, that is measured and skipped at once. Keys
// that end within the word come first, by length (the word alone cannot tell "a" from "a\0").
//
// Keys that lie in their records, as all of them or a part, are compared there. Others are made
// once: their first word for every record, and more only for groups of equal words, as much as the
// memory for keys allows (a *window* of each key), kept until the group is sorted. Records of equal
// bytes have equal keys and need no more. A window is made from the key's beginning; where that is
// costly, the few records whose keys share a long prefix are merge sorted instead, by comparisons
// that read both keys once.
//
// Multikey quicksort (Bentley and Sedgewick 1997) with radix sort in place of partitioning, and the
// caching of 8 characters of super-alphabets (Ng and Kakehi 2007).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/prefetch.h"
#include "record/key_extractor.h"
#include "sort/radix_sort.h"

namespace xxl {

struct StringItem {
  // Set in `ref` by the sort: the key is equal to that of the item before.
  static constexpr std::uint64_t kSameKey = std::uint64_t{1} << 63;

  std::uint64_t word;  // 8 bytes of the key as a big-endian number, padded with zeros
  std::uint64_t ref;   // the record, as the caller's Access understands it; below kSameKey

  bool same_key() const { return (ref & kSameKey) != 0; }
  std::uint64_t place() const { return ref & ~kSameKey; }
};

// The 8 bytes of `key` from `depth` on.
inline std::uint64_t key_word(std::string_view key, std::size_t depth) {
  if (depth >= key.size()) return 0;
  const char* from = key.data() + depth;
  const std::size_t left = key.size() - depth;
  std::uint64_t word = 0;
  if (left >= 8) {
    std::memcpy(&word, from, 8);
    return __builtin_bswap64(word);
  }
  if (key.size() >= 8) {  // the last 8 bytes, some of which are needed
    std::memcpy(&word, key.data() + key.size() - 8, 8);
    return __builtin_bswap64(word) << (8 * (8 - left));
  }
  for (std::size_t i = 0; i < left; ++i) {
    word |= std::uint64_t{static_cast<unsigned char>(from[i])} << (56 - 8 * i);
  }
  return word;
}

namespace string_sort_detail {

inline constexpr std::size_t kSmallGroup = 16;  // up to here keys are compared

inline void set_same(std::span<StringItem> items) {
  for (std::size_t i = 1; i < items.size(); ++i) items[i].ref |= StringItem::kSameKey;
}

inline std::size_t common_prefix(std::string_view a, std::string_view b, std::size_t from) {
  const std::size_t most = std::min(a.size(), b.size());
  std::size_t at = from;
  for (; at + 8 <= most; at += 8) {
    std::uint64_t x, y;
    std::memcpy(&x, a.data() + at, 8);
    std::memcpy(&y, b.data() + at, 8);
    if (x != y) return at + static_cast<std::size_t>(std::countr_zero(x ^ y)) / 8;
  }
  while (at < most && a[at] == b[at]) ++at;
  return at;
}

inline int compare_from(std::string_view a, std::string_view b, std::size_t depth) {
  const std::size_t x = a.size() - depth, y = b.size() - depth;
  const int order = std::memcmp(a.data() + depth, b.data() + depth, std::min(x, y));
  return order != 0 ? order : (x > y) - (x < y);
}

// `items` agree in the first `depth` bytes, all have that many.
template <class View>
void sort_small(std::span<StringItem> items, View view, std::size_t depth) {
  for (std::size_t i = 1; i < items.size(); ++i) {
    const StringItem item = items[i];
    const std::string_view key = view(item.ref);
    std::size_t place = i;
    for (; place > 0; --place) {
      if (compare_from(view(items[place - 1].ref), key, depth) <= 0) break;
      items[place] = items[place - 1];
    }
    items[place] = item;
  }
  std::string_view before = view(items[0].ref);
  for (std::size_t i = 1; i < items.size(); ++i) {
    const std::string_view key = view(items[i].ref);
    if (compare_from(before, key, depth) == 0) items[i].ref |= StringItem::kSameKey;
    before = key;
  }
}

// Items that are still to be sorted; their keys agree in their first `depth` bytes.
struct Unsorted {
  std::span<StringItem> items;
  std::size_t depth = 0;
};

// `items` have equal words at `depth`. Sorts them, except those that it returns.
template <class View>
Unsorted sort_group(std::span<StringItem> items, std::span<StringItem> scratch, View view,
                    std::size_t depth) {
  if (items.size() <= kSmallGroup) {
    sort_small(items, view, depth);
    return {};
  }
  // Keys that end here, by length; then those that go on.
  const auto rest = [&](const StringItem& item) {
    return static_cast<std::uint32_t>(std::min<std::size_t>(view(item.ref).size() - depth, 9));
  };
  std::size_t at = 0;
  if (std::any_of(items.begin(), items.end(), [&](const auto& i) { return rest(i) <= 8; })) {
    radix_sort(items, scratch, rest);
    for (std::size_t end; at < items.size() && rest(items[at]) <= 8; at = end) {
      end = at + 1;
      while (end < items.size() && rest(items[end]) == rest(items[at])) ++end;
      set_same(items.subspan(at, end - at));
    }
  }
  std::span<StringItem> longer = items.subspan(at);
  if (longer.size() <= kSmallGroup) {
    if (longer.size() > 1) sort_small(longer, view, depth + 8);
    return {};
  }
  const std::string_view first = view(longer[0].ref);
  std::size_t common = first.size();
  bool ends = true;  // all end where the first one does
  for (const StringItem& item : longer) {
    const std::string_view key = view(item.ref);
    if (common > depth + 8) common = common_prefix(first.substr(0, common), key, depth + 8);
    ends &= key.size() == first.size();
    if (common == depth + 8) break;
  }
  if (ends && common == first.size()) {
    set_same(longer);
    return {};
  }
  return {longer, common};
}

template <class View>
void sort_strings(Unsorted unsorted, std::span<StringItem> scratch, View view);

// `items` are in order of their words at `depth`. Sorts them, except the largest part, which it
// returns: recursion gets at most half of the items, so the stack stays low.
template <class View>
Unsorted refine_strings(std::span<StringItem> items, std::span<StringItem> scratch, View view,
                        std::size_t depth) {
  Unsorted largest;
  for (std::size_t i = 0, end; i < items.size(); i = end) {
    end = i + 1;
    while (end < items.size() && items[end].word == items[i].word) ++end;
    if (end == i + 1) continue;
    Unsorted part = sort_group(items.subspan(i, end - i), scratch, view, depth);
    if (part.items.size() > largest.items.size()) std::swap(part, largest);
    if (!part.items.empty()) sort_strings(part, scratch, view);
  }
  return largest;
}

template <class View>
void sort_strings(Unsorted unsorted, std::span<StringItem> scratch, View view) {
  while (!unsorted.items.empty()) {
    for (StringItem& item : unsorted.items) item.word = key_word(view(item.ref), unsorted.depth);
    radix_sort(unsorted.items, scratch, [](const StringItem& item) { return item.word; });
    unsorted = refine_strings(unsorted.items, scratch, view, unsorted.depth);
  }
}

}  // namespace string_sort_detail

// Bytes that a StringSorter needs for keys, for each item; more makes it faster.
inline constexpr std::size_t kKeyMemoryPerItem = 48;

// `Access`: std::string_view operator()(std::uint64_t place), the record; prefetch(place). One
// thread.
template <class Access>
class StringSorter {
 public:
  // `scratch`: as many items as are ever sorted. `key_memory`, aligned to 8: kKeyMemoryPerItem for
  // each of them, or nothing if the records are the keys. All must outlive the sorter.
  StringSorter(const Access& access, const KeyExtractor& keys, std::span<StringItem> scratch,
               std::span<std::byte> key_memory)
      : access_(access), keys_(keys), scratch_(scratch), memory_(key_memory) {}

  // Sorts `items` (their words are made here) stably. All keys share their first `depth` bytes.
  void sort(std::span<StringItem> items, std::size_t depth) {
    if (keys_.is_whole_record()) {
      string_sort_detail::sort_strings({items, depth}, scratch_, access_);
      return;
    }
    for (StringItem& item : items) {
      item.word = key_word(key_of(keys_, access_(item.ref), depth + 8, key_), depth);
    }
    sort_by_words(items, depth);
  }

  // As sort(), with the words made already.
  void sort_by_words(std::span<StringItem> items, std::size_t depth) {
    radix_sort(items, scratch_, [](const StringItem& item) { return item.word; });
    if (keys_.is_whole_record()) {
      string_sort_detail::sort_strings(
          string_sort_detail::refine_strings(items, scratch_, access_, depth), scratch_, access_);
      return;
    }
    if (keys_.is_in_record()) {
      const auto key = [this](std::uint64_t ref) { return keys_.key_in(access_(ref)); };
      string_sort_detail::sort_strings(
          string_sort_detail::refine_strings(items, scratch_, key, depth), scratch_, key);
      return;
    }
    for (std::size_t i = 0, end; i < items.size(); i = end) {
      end = i + 1;
      while (end < items.size() && items[end].word == items[i].word) ++end;
      if (end > i + 1) sort_group(items.subspan(i, end - i), depth);
    }
  }

 private:
  static constexpr std::size_t kFirstWindow = 32;
  static constexpr std::size_t kWindowGrowth = 8;
  static constexpr std::size_t kMaxWindow = std::size_t{1} << 20;
  // Costly keys that agree in this many bytes are compared.
  static constexpr std::size_t kComparedDepth = std::size_t{256} << 10;

  // Part of a key, kept in memory_.
  struct Window {
    std::uint64_t ref;
    std::uint32_t begin;
    std::uint32_t length;
    bool more;  // the key goes on
  };

  using Unsorted = string_sort_detail::Unsorted;

  // The keys of `items` agree in their first `depth` bytes. Most differ soon after: windows are
  // small at first.
  void sort_group(std::span<StringItem> items, std::size_t depth,
                  std::size_t window_bytes = kFirstWindow) {
    Unsorted unsorted{items, depth};
    while (!unsorted.items.empty()) {
      if (unsorted.depth >= kComparedDepth && keys_.is_costly_in_full()) {
        sort_by_comparisons(unsorted.items);
        return;
      }
      unsorted = sort_window(unsorted.items, unsorted.depth, window_bytes);
      window_bytes = wider(window_bytes);
    }
  }
  void sort_by_comparisons(std::span<StringItem> items) {
    const auto order = [&](const StringItem& a, const StringItem& b) {
      return compare_keys(keys_, access_(a.ref), keys_, access_(b.ref));
    };
    std::stable_sort(items.begin(), items.end(),
                     [&](const StringItem& a, const StringItem& b) { return order(a, b) < 0; });
    // From the end: a marked reference cannot be followed.
    for (std::size_t i = items.size() - 1; i != 0; --i) {
      if (order(items[i - 1], items[i]) == 0) items[i].ref |= StringItem::kSameKey;
    }
  }
  static std::size_t wider(std::size_t window_bytes) {
    return std::min(kWindowGrowth * window_bytes, kMaxWindow);
  }

  // Sorts by the next window; returns the largest part for which that is not enough.
  Unsorted sort_window(std::span<StringItem> items, std::size_t depth, std::size_t window_bytes) {
    if (all_alike(items)) {
      string_sort_detail::set_same(items);
      return {};
    }
    const std::size_t n = items.size();
    const std::size_t taken = n * sizeof(Window);
    XXL_CHECK(memory_.size() >= n * kKeyMemoryPerItem);
    const std::size_t most = std::min((memory_.size() - taken) / n, window_bytes);
    auto* const windows = reinterpret_cast<Window*>(memory_.data());
    char* const bytes = reinterpret_cast<char*>(memory_.data()) + taken;
    std::uint32_t used = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (i + kPrefetchRecords < n) access_.prefetch(items[i + kPrefetchRecords].ref);
      key_.clear();
      keys_.append_key_part(access_(items[i].ref), depth, most, key_);
      const auto length = static_cast<std::uint32_t>(std::min(key_.size(), most));
      std::memcpy(bytes + used, key_.data(), length);
      // A key made up to the limit may go on.
      windows[i] = {items[i].ref, used, length, length == most};
      used += length;
      items[i].ref = i;
    }
    string_sort_detail::sort_strings({items, 0}, scratch_, [windows, bytes](std::uint64_t ref) {
      const Window& window = windows[ref];
      return std::string_view(bytes + window.begin, window.length);
    });
    std::vector<std::pair<std::size_t, std::size_t>> deeper;
    for (std::size_t i = 0; i < n; ++i) {
      const Window& window = windows[items[i].place()];
      const bool same = items[i].same_key();
      if (same && window.more) {
        if (deeper.empty() || deeper.back().second != i) deeper.push_back({i - 1, i});
        deeper.back().second = i + 1;
      }
      items[i].ref = window.ref | (same && !window.more ? StringItem::kSameKey : 0);
    }
    Unsorted largest;
    for (const auto& [begin, end] : deeper) {
      Unsorted part{items.subspan(begin, end - begin), depth + most};
      if (part.items.size() > largest.items.size()) std::swap(part, largest);
      if (!part.items.empty()) sort_group(part.items, part.depth, wider(window_bytes));
    }
    return largest;
  }

  bool all_alike(std::span<StringItem> items) const {
    const std::string_view first = access_(items[0].ref);
    return std::all_of(items.begin() + 1, items.end(),
                       [&](const StringItem& item) { return access_(item.ref) == first; });
  }

  const Access& access_;
  const KeyExtractor& keys_;
  std::span<StringItem> scratch_;
  std::span<std::byte> memory_;
  std::string key_;
};

}  // namespace xxl
