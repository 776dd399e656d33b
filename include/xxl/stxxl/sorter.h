// stxxl::sorter.
#pragma once

#include <algorithm>

#include "xxl/sorter.h"
#include "xxl/stxxl/config.h"

namespace stxxl {

template <class ValueType, class CompareType,
          unsigned BlockSize = STXXL_DEFAULT_BLOCK_SIZE(ValueType),
          class AllocStrategy = STXXL_DEFAULT_ALLOC_STRATEGY>
class sorter {
 public:
  using value_type = ValueType;
  using cmp_type = CompareType;
  using alloc_strategy_type = AllocStrategy;
  using size_type = external_size_type;
  enum { block_size = BlockSize };

  // Memory in bytes.
  sorter(const cmp_type& cmp, unsigned_type memory_to_use)
      : sorter_(cmp, detail::resources_of(memory_to_use), {.repeatable = true}) {}
  sorter(const cmp_type& cmp, unsigned_type creator_memory, unsigned_type merger_memory)
      : sorter(cmp, std::max(creator_memory, merger_memory)) {}
  sorter(const sorter&) = delete;
  sorter& operator=(const sorter&) = delete;

  void push(const value_type& value) { sorter_.push(value); }
  void sort() { sorter_.sort(); }
  void sort(unsigned_type) { sort(); }
  void sort_reuse() { sort(); }
  void rewind() {
    pulled_ = 0;
    sorter_.rewind();
  }
  void clear() {
    pulled_ = 0;
    sorter_.clear();
  }
  void finish() {}
  void finish_clear() { clear(); }
  void set_merger_memory_to_use(unsigned_type) {}

  // Before sort() what was pushed; after it what is left, as in STXXL.
  size_type size() const { return sorter_.size() - pulled_; }
  bool empty() const { return sorter_.empty(); }
  const value_type& operator*() const { return *sorter_; }
  const value_type* operator->() const { return &*sorter_; }
  sorter& operator++() {
    ++sorter_;
    ++pulled_;
    return *this;
  }

 private:
  mutable xxl::sorter<value_type, cmp_type> sorter_;
  size_type pulled_ = 0;
};

}  // namespace stxxl
