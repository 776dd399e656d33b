// Equal buffers cut from one piece of memory.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/error.h"

namespace xxl::io {

// The memory belongs to the caller. Not thread-safe: coordinator only.
class BufferPool {
 public:
  BufferPool(std::span<std::byte> memory, std::size_t buffer_bytes)
      : buffer_bytes_(buffer_bytes), count_(memory.size() / buffer_bytes) {
    free_.reserve(count_);
    for (std::size_t i = count_; i-- > 0;) free_.push_back(memory.data() + i * buffer_bytes);
  }

  std::size_t buffer_bytes() const { return buffer_bytes_; }
  std::size_t available() const { return free_.size(); }
  std::size_t count() const { return count_; }

  // A free buffer; there must be one.
  std::byte* take() {
    XXL_CHECK(!free_.empty());
    std::byte* buffer = free_.back();
    free_.pop_back();
    return buffer;
  }
  void give_back(std::byte* buffer) {
    XXL_CHECK(free_.size() < count_);
    free_.push_back(buffer);
  }

 private:
  std::size_t buffer_bytes_;
  std::size_t count_;
  std::vector<std::byte*> free_;
};

}  // namespace xxl::io
