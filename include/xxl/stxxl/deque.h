// stxxl::deque, queue and stack: arrays in files, used in a circle.
//
//     file    e f g . . a b c d        begin at a, 7 elements
#pragma once

#include <algorithm>
#include <queue>
#include <stack>
#include <utility>

#include "xxl/stxxl/config.h"
#include "xxl/stxxl/priority_queue.h"
#include "xxl/stxxl/vector.h"

namespace stxxl {

template <class Deque>
class deque_iterator : public detail::vector_iterator_base<deque_iterator<Deque>, Deque> {
 public:
  using deque_iterator::vector_iterator_base::vector_iterator_base;
};

template <class Deque>
class const_deque_iterator
    : public detail::vector_iterator_base<const_deque_iterator<Deque>, const Deque> {
 public:
  using const_deque_iterator::vector_iterator_base::vector_iterator_base;
  const_deque_iterator(const deque_iterator<Deque>& other)
      : const_deque_iterator(other.parent_vector(), other.index()) {}
};

// The file grows with the deque, and does not shrink.
template <class T, class Vector = vector<T>>
class deque {
 public:
  using value_type = T;
  using reference = T&;
  using const_reference = const T&;
  using size_type = typename Vector::size_type;
  using block_type = typename Vector::block_type;
  using iterator = deque_iterator<deque>;
  using const_iterator = const_deque_iterator<deque>;

  deque() = default;
  deque(const deque&) = default;
  deque(deque&& other) noexcept : deque() { swap(other); }
  deque& operator=(deque other) noexcept {
    swap(other);
    return *this;
  }
  void swap(deque& other) noexcept {
    elements_.swap(other.elements_);
    std::swap(begin_, other.begin_);
    std::swap(size_, other.size_);
  }

  size_type size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void clear() { *this = deque(); }
  reference operator[](size_type i) { return elements_[place(i)]; }
  const_reference operator[](size_type i) const { return elements_[place(i)]; }
  reference front() { return (*this)[0]; }
  const_reference front() const { return (*this)[0]; }
  reference back() { return (*this)[size_ - 1]; }
  const_reference back() const { return (*this)[size_ - 1]; }

  void push_back(T value) {  // (a copy: it may be an element)
    if (size_ == elements_.size()) grow();
    elements_[place(size_)] = value;
    ++size_;
  }
  void push_front(T value) {
    if (size_ == elements_.size()) grow();
    const size_type before = place(elements_.size() - 1);
    elements_[before] = value;
    begin_ = before;
    ++size_;
  }
  void pop_back() { --size_; }
  void pop_front() {
    begin_ = place(1);
    --size_;
  }

  iterator begin() { return {this, 0}; }
  iterator end() { return {this, size_}; }
  const_iterator begin() const { return {this, 0}; }
  const_iterator end() const { return {this, size_}; }
  const_iterator cbegin() const { return begin(); }
  const_iterator cend() const { return end(); }

 private:
  // (The number of places is a power of two.)
  size_type place(size_type i) const { return (begin_ + i) & (elements_.size() - 1); }
  void grow() {
    const size_type places = elements_.size();
    elements_.resize(std::max<size_type>(2 * places, 1024));
    for (size_type i = 0; i < begin_; ++i) elements_[places + i] = elements_[i];
  }

  Vector elements_;
  size_type begin_ = 0;
  size_type size_ = 0;
};

// Pools and numbers of blocks are not used.
template <class T, unsigned BlockSize = STXXL_DEFAULT_BLOCK_SIZE(T),
          class AllocStrategy = STXXL_DEFAULT_ALLOC_STRATEGY, class SizeType = uint64>
class queue : public std::queue<T, deque<T>> {
 public:
  using block_type = detail::block_of<BlockSize, T>;
  using pool_type = read_write_pool<block_type>;

  explicit queue(int = -1) {}
  queue(unsigned_type, unsigned_type, int = -1) {}
  explicit queue(pool_type&, int = -1) {}
};

// The same.
template <class T, unsigned BlockSize = STXXL_DEFAULT_BLOCK_SIZE(T)>
class stack : public std::stack<T, deque<T>> {
 public:
  using block_type = detail::block_of<BlockSize, T>;
  using pool_type = read_write_pool<block_type>;

  stack() = default;
  explicit stack(pool_type&, unsigned_type = 0) {}
  template <class Container>
  explicit stack(std::stack<T, Container> other) {
    std::stack<T, Container> reversed;
    for (; !other.empty(); other.pop()) reversed.push(other.top());
    for (; !reversed.empty(); reversed.pop()) this->push(reversed.top());
  }
  void set_prefetch_aggr(unsigned_type) {}
};

enum stack_externality { external, migrating, internal };
enum stack_behaviour { normal, grow_shrink, grow_shrink2 };

// All kinds are the same.
template <class T, stack_externality = external, stack_behaviour = normal,
          unsigned BlocksPerPage = 4, unsigned BlockSize = STXXL_DEFAULT_BLOCK_SIZE(T),
          class Internal = std::stack<T>, unsigned_type MigratingSize = 0,
          class AllocStrategy = STXXL_DEFAULT_ALLOC_STRATEGY, class SizeType = uint64>
class STACK_GENERATOR {
 public:
  using result = stack<T, BlockSize>;
};

}  // namespace stxxl
