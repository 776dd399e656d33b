// stxxl::sort, ksort, stable_sort and stable_ksort, of vectors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "xxl/sorter.h"
#include "xxl/stxxl/vector.h"

namespace stxxl {

namespace detail {

template <class Key, class KeyExtractor>
struct ByExtractedKey {
  KeyExtractor key;
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return key(a) < key(b);
  }
};

}  // namespace detail

// Sorts [first, last) of a vector by a comparator.
template <class VectorIterator, class StrictWeakOrdering>
void sort(VectorIterator first, VectorIterator last, StrictWeakOrdering cmp, unsigned_type M) {
  using T = typename VectorIterator::value_type;
  auto& vector = *first.parent_vector();
  xxl::sorter<T, StrictWeakOrdering> sorter(
      std::move(cmp), detail::resources_of(M),
      {.expected_records = static_cast<std::uint64_t>(last - first)});
  auto from = vector.reader(first.index(), last.index());
  for (auto block = from.next(); !block.empty(); block = from.next()) sorter.push(block);
  auto to = vector.writer(first.index());
  for (auto sorted = sorter.pull(); !sorted.empty(); sorted = sorter.pull()) {
    to.put_all(sorted.data(), sorted.size_bytes());
  }
  to.finish();
}

// Sorts an array in memory.
template <unsigned BlockSize, class RandomAccessIterator, class StrictWeakOrdering,
          class AllocStrategy>
void sort(RandomAccessIterator first, RandomAccessIterator last, StrictWeakOrdering cmp,
          unsigned_type, AllocStrategy) {
  std::stable_sort(first, last, std::move(cmp));
}

// Sorts a short vector in the page cache.
template <class VectorIterator, class StrictWeakOrdering>
void stl_in_memory_sort(VectorIterator first, VectorIterator last, StrictWeakOrdering cmp) {
  std::sort(first, last, std::move(cmp));
}

// By keys that `keyobj` extracts.
template <class VectorIterator, class KeyExtractor>
void ksort(VectorIterator first, VectorIterator last, KeyExtractor keyobj, unsigned_type M) {
  using Key = typename KeyExtractor::key_type;
  sort(first, last, detail::ByExtractedKey<Key, KeyExtractor>{std::move(keyobj)}, M);
}

// By the member function key() of elements.
template <class VectorIterator>
void ksort(VectorIterator first, VectorIterator last, unsigned_type M) {
  using T = typename VectorIterator::value_type;
  sort(
      first, last, [](const T& a, const T& b) { return a.key() < b.key(); }, M);
}

// The same, which keeps equal elements in their order.
template <class VectorIterator, class StrictWeakOrdering>
void stable_sort(VectorIterator first, VectorIterator last, StrictWeakOrdering cmp,
                 unsigned_type M) {
  sort(first, last, std::move(cmp), M);
}
template <class VectorIterator>
void stable_ksort(VectorIterator first, VectorIterator last, unsigned_type M) {
  ksort(first, last, M);
}

// For iterators of vectors, and all others.
template <class VectorIterator, class StrictWeakOrdering>
bool is_sorted(VectorIterator first, VectorIterator last, StrictWeakOrdering cmp) {
  return std::is_sorted(first, last, cmp);
}
template <class VectorIterator>
bool is_sorted(VectorIterator first, VectorIterator last) {
  return std::is_sorted(first, last);
}

}  // namespace stxxl
