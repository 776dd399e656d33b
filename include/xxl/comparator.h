// The order of records that any comparator gives, for the engine: compiled for T and Compare, so
// that comparisons are inlined into the loops that make them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <span>
#include <utility>

#include "xxl/export.h"

namespace xxl::detail {

// Immutable. Many threads use it at once. Records lie in arrays aligned for their type.
//
// A comparator that is not a strict weak order may give any order and lose records, which the
// engine notices. Nothing here leaves its arrays for it, as std::sort would. One that throws is
// such a comparator from then on, and its first exception is kept for the caller.
class RecordOrder {
 public:
  virtual ~RecordOrder() = default;

  // Negative, 0 or positive.
  virtual int compare(const std::byte* a, const std::byte* b) const = 0;
  // Sorts `count` records, stably; `spare` has room for as many.
  virtual void sort(std::byte* records, std::size_t count, std::byte* spare) const = 0;
  // The same for pointers to records.
  virtual void sort(const std::byte** records, std::size_t count,
                    const std::byte** spare) const = 0;
  // The places of records among `splitters`, which are strictly ascending. A record above the k
  // smallest and below the others has place 2 k. A record equal to splitter k has 2 k + 1.
  virtual void place(const std::byte* records, std::size_t count, const std::byte* splitters,
                     std::size_t splitter_count, std::uint16_t* places) const = 0;
  // The same. `places` guesses for each record how many splitters are not above it.
  virtual void place_near(const std::byte* records, std::size_t count, const std::byte* splitters,
                          std::size_t splitter_count, std::uint16_t* places) const = 0;
  // For records in stable order by a member, `bytes` at `offset`: sorts records with equal members.
  // False if the result is not sorted stably. The records are then in any order.
  virtual bool settle(std::byte* records, std::size_t count, std::size_t offset, std::size_t bytes,
                      std::byte* spare) const = 0;
  // A copy, owned by the caller, without an exception.
  virtual RecordOrder* clone() const = 0;

  // Throws what the comparator threw first, if it did.
  void rethrow() const;

 protected:
  // Called while the exception is handled.
  XXL_API void keep_exception() const noexcept;
  XXL_API bool has_thrown() const noexcept;

 private:
  mutable std::exception_ptr exception_;
};

// An order with copies of its own. It may be empty.
class OwnOrder {
 public:
  OwnOrder() = default;
  explicit OwnOrder(const RecordOrder* owned) : order_(owned) {}
  OwnOrder(const OwnOrder& other) : order_(other.order_ ? other.order_->clone() : nullptr) {}
  OwnOrder(OwnOrder&& other) noexcept : order_(std::exchange(other.order_, nullptr)) {}
  OwnOrder& operator=(OwnOrder other) noexcept {
    std::swap(order_, other.order_);
    return *this;
  }
  ~OwnOrder() { delete order_; }

  // Null if it is empty.
  const RecordOrder* get() const { return order_; }

 private:
  const RecordOrder* order_ = nullptr;
};

// Copies bytes. Assignments may leave out the bytes between members, but records have them.
template <class Item>
void copy_item(const Item* from, Item* to) {
  std::memcpy(static_cast<void*>(to), static_cast<const void*>(from), sizeof(Item));
}

// Copies of items without their destructors.
template <class Item, std::size_t kCount>
class ItemCopies {
 public:
  explicit ItemCopies(const Item* items) { std::memcpy(bytes_, items, sizeof(bytes_)); }
  const Item* data() const { return reinterpret_cast<const Item*>(bytes_); }

 private:
  alignas(Item) std::byte bytes_[kCount * sizeof(Item)];
};

// Merges the sorted halves of source[0, count) into `target`, from both ends at once and without
// branches that depend on the order. With any `less`, it stays within these arrays.
template <class Item, class Less>
void merge_halves(const Item* source, std::size_t count, Item* target, const Less& less) {
  const std::size_t half = count / 2;
  const Item* left = source;
  const Item* right = source + half;
  const Item* left_last = source + half - 1;
  const Item* right_last = source + count - 1;
  Item* front = target;
  Item* back = target + count - 1;
  for (std::size_t i = 0; i < half; ++i) {
    const bool takes_right = less(*right, *left);
    copy_item(takes_right ? right : left, front++);
    right += takes_right;
    left += !takes_right;
    const bool takes_left = less(*right_last, *left_last);
    copy_item(takes_left ? left_last : right_last, back--);
    left_last -= takes_left;
    right_last -= !takes_left;
  }
  if (count % 2 != 0) copy_item(left <= left_last ? left : right, front);
}

// Sorts four items, stably.
template <class Item, class Less>
void sort_four(const Item* source, Item* target, const Less& less) {
  const bool first = less(source[1], source[0]), second = less(source[3], source[2]);
  const Item* const a = source + first;  // a <= b
  const Item* const b = source + !first;
  const Item* const c = source + 2 + second;  // c <= d
  const Item* const d = source + 2 + !second;
  const bool c_first = less(*c, *a), d_before_b = less(*d, *b);
  const Item* const least = c_first ? c : a;
  const Item* const greatest = d_before_b ? b : d;
  const Item* const left = c_first ? a : (d_before_b ? c : b);
  const Item* const right = d_before_b ? d : (c_first ? b : c);
  const bool swapped = less(*right, *left);
  copy_item(least, target);
  copy_item(swapped ? right : left, target + 1);
  copy_item(swapped ? left : right, target + 2);
  copy_item(greatest, target + 3);
}

// Sorts `items`; the result is in `spare` if `into_spare`.
template <class Item, class Less>
void merge_sort(Item* items, std::size_t count, Item* spare, bool into_spare, const Less& less) {
  constexpr std::size_t kLeast = 8;
  Item* const target = into_spare ? spare : items;
  if (count < kLeast) {
    std::size_t sorted = 0;
    if (count >= 4) {
      const ItemCopies<Item, 4> four(items);
      sort_four(four.data(), target, less);
      sorted = 4;
    }
    for (; sorted < count; ++sorted) {
      const ItemCopies<Item, 1> item(items + sorted);
      std::size_t at = sorted;
      for (; at > 0 && less(*item.data(), target[at - 1]); --at) {
        copy_item(target + at - 1, target + at);
      }
      copy_item(item.data(), target + at);
    }
    return;
  }
  const std::size_t half = count / 2;
  merge_sort(items, half, spare, !into_spare, less);
  merge_sort(items + half, count - half, spare + half, !into_spare, less);
  merge_halves(into_spare ? items : spare, count, target, less);
}

template <class T, class Compare>
class ComparedOrder final : public RecordOrder {
 public:
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__,
                "records that need more alignment than std::max_align_t are sorted by keys only");

  explicit ComparedOrder(Compare by) : less_(std::move(by)) {}

  int compare(const std::byte* a, const std::byte* b) const override {
    if (less(at(a), at(b))) return -1;
    return less(at(b), at(a)) ? 1 : 0;
  }

  void sort(std::byte* records, std::size_t count, std::byte* spare) const override {
    if (has_thrown()) return;
    merge_sort(reinterpret_cast<T*>(records), count, reinterpret_cast<T*>(spare), false,
               [this](const T& a, const T& b) { return less(a, b); });
  }

  void sort(const std::byte** records, std::size_t count, const std::byte** spare) const override {
    if (has_thrown()) return;
    merge_sort(records, count, spare, false,
               [this](const std::byte* a, const std::byte* b) { return less(at(a), at(b)); });
  }

  void place(const std::byte* records, std::size_t count, const std::byte* splitters,
             std::size_t splitter_count, std::uint16_t* places) const override {
    constexpr std::size_t kAtOnce = 8;  // independent of each other: the processor overlaps them
    const T* const all = reinterpret_cast<const T*>(splitters);
    const T* const record = reinterpret_cast<const T*>(records);
    if (splitter_count == 0) {
      for (std::size_t i = 0; i < count; ++i) places[i] = 0;
      return;
    }
    std::size_t i = 0;
    for (; i + kAtOnce <= count; i += kAtOnce) {
      const T* low[kAtOnce];
      for (const T*& first : low) first = all;
      for (std::size_t left = splitter_count; left > 1; left -= left / 2) {
        const std::size_t half = left / 2;
        for (std::size_t j = 0; j < kAtOnce; ++j) {
          low[j] += half * static_cast<std::size_t>(!less(record[i + j], low[j][half - 1]));
        }
      }
      for (std::size_t j = 0; j < kAtOnce; ++j)
        places[i + j] = place_at(record[i + j], low[j], all);
    }
    for (; i < count; ++i) {
      const T* low = all;
      for (std::size_t left = splitter_count; left > 1; left -= left / 2) {
        low += left / 2 * static_cast<std::size_t>(!less(record[i], low[left / 2 - 1]));
      }
      places[i] = place_at(record[i], low, all);
    }
  }

  void place_near(const std::byte* records, std::size_t count, const std::byte* splitters,
                  std::size_t splitter_count, std::uint16_t* places) const override {
    const T* const all = reinterpret_cast<const T*>(splitters);
    const T* const record = reinterpret_cast<const T*>(records);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t near = places[i];
      const bool wrong = (near > 0 && less(record[i], all[near - 1])) ||
                         (near < splitter_count && !less(record[i], all[near]));
      if (wrong) [[unlikely]] {
        place(records + i * sizeof(T), 1, splitters, splitter_count, places + i);
      } else {
        const bool equal = near > 0 && !less(all[near - 1], record[i]);
        places[i] = static_cast<std::uint16_t>(2 * near - equal);
      }
    }
  }

  bool settle(std::byte* records, std::size_t count, std::size_t offset, std::size_t bytes,
              std::byte* spare) const override {
    T* const record = reinterpret_cast<T*>(records);
    const auto same_member = [&](std::size_t i, std::size_t j) {
      return std::memcmp(records + i * sizeof(T) + offset, records + j * sizeof(T) + offset,
                         bytes) == 0;
    };
    for (std::size_t i = 1; i < count; ++i) {
      if (less(record[i - 1], record[i])) [[likely]]
        continue;
      if (!same_member(i - 1, i)) return false;  // equal, which may not be stable; or out of order
      if (!less(record[i], record[i - 1])) continue;
      std::size_t first = i - 1, last = i + 1;
      while (first > 0 && same_member(first - 1, i)) --first;
      while (last < count && same_member(last, i)) ++last;
      merge_sort(record + first, last - first, reinterpret_cast<T*>(spare), false,
                 [this](const T& a, const T& b) { return less(a, b); });
      if (first > 0 && !less(record[first - 1], record[first])) return false;
      i = last - 1;
    }
    return true;
  }

  RecordOrder* clone() const override { return new ComparedOrder(less_); }

 private:
  static const T& at(const std::byte* record) { return *reinterpret_cast<const T*>(record); }

  // False if the comparator throws.
  bool less(const T& a, const T& b) const {
    if constexpr (noexcept(less_(a, b))) {
      return less_(a, b);
    } else {
      try {
        return less_(a, b);
      } catch (...) {
        keep_exception();
        return false;
      }
    }
  }
  // Splitters before `low` are not above the record. Those from `low` on are.
  std::uint16_t place_at(const T& record, const T* low, const T* all) const {
    low += !less(record, *low);  // the first one above the record
    const auto not_above = static_cast<std::size_t>(low - all);
    const bool equal = not_above > 0 && !less(low[-1], record);
    return static_cast<std::uint16_t>(2 * not_above - equal);
  }

  Compare less_;
};

}  // namespace xxl::detail
