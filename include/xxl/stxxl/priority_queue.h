// stxxl::priority_queue, and the pools that containers are made with.
#pragma once

#include <algorithm>

#include "xxl/priority_queue.h"
#include "xxl/stxxl/config.h"

namespace stxxl {

// Counts blocks: their memory is part of what a container may use.
template <class Block>
class read_write_pool {
 public:
  using block_type = Block;
  explicit read_write_pool(unsigned_type prefetched = 1, unsigned_type written = 1)
      : blocks_(prefetched + written) {}
  unsigned_type memory_bytes() const { return blocks_ * block_type::raw_size; }

 private:
  unsigned_type blocks_;
};
template <class Block>
class prefetch_pool : public read_write_pool<Block> {
 public:
  explicit prefetch_pool(unsigned_type blocks = 1) : read_write_pool<Block>(blocks, 0) {}
};
template <class Block>
class write_pool : public read_write_pool<Block> {
 public:
  explicit write_pool(unsigned_type blocks = 1) : read_write_pool<Block>(0, blocks) {}
};

// `Memory`: in bytes, without the pools.
template <class T, class Compare, unsigned_type Memory>
struct priority_queue_config {
  using value_type = T;
  using comparator_type = Compare;
  static constexpr unsigned_type memory = Memory;
};

// See xxl::priority_queue.
template <class Config>
class priority_queue {
 public:
  using value_type = typename Config::value_type;
  using comparator_type = typename Config::comparator_type;
  using size_type = uint64;
  using block_type = detail::block_of<256 << 10, value_type>;
  using pool_type = read_write_pool<block_type>;

  explicit priority_queue(const pool_type& pool)
      : priority_queue(pool.memory_bytes(), unsigned_type{0}) {}
  priority_queue(const prefetch_pool<block_type>& prefetched, const write_pool<block_type>& written)
      : priority_queue(prefetched.memory_bytes(), written.memory_bytes()) {}
  priority_queue(unsigned_type prefetch_bytes, unsigned_type write_bytes)
      : memory_(std::max<unsigned_type>(Config::memory + prefetch_bytes + write_bytes,
                                        kLeastRecords * sizeof(value_type))),
        queue_(comparator_type(), detail::resources_of(memory_)) {}

  size_type size() const { return queue_.size(); }
  bool empty() const { return queue_.empty(); }
  const value_type& top() const { return queue_.top(); }
  void push(const value_type& value) { queue_.push(value); }
  void pop() { queue_.pop(); }
  unsigned_type mem_cons() const { return memory_; }

 private:
  static constexpr unsigned_type kLeastRecords = 1024;

  unsigned_type memory_;
  mutable xxl::priority_queue<value_type, comparator_type> queue_;
};

template <class T, class Compare, unsigned_type Memory, unsigned_type MaxItems, unsigned Tune = 6>
class PRIORITY_QUEUE_GENERATOR {
 public:
  enum { N = 0, X = 0, AI = 0, AE = 0 };  // parameters of STXXL's own
  using result = priority_queue<priority_queue_config<T, Compare, Memory>>;
};

}  // namespace stxxl
