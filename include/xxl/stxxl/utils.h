// Small functions of STXXL.
#pragma once

#include <cstdlib>
#include <functional>
#include <limits>
#include <new>
#include <string>

#include "xxl/stxxl/config.h"

namespace stxxl {

inline uint64 atouint64(const char* text) {
  return std::strtoull(text, nullptr, 10);
}
inline int64 atoint64(const char* text) {
  return std::strtoll(text, nullptr, 10);
}

template <class Number, class Divisor>
constexpr auto div_ceil(Number number, Divisor by) {
  return number / by + (number % by == 0 ? 0 : 1);
}

// Throws std::bad_alloc.
template <std::size_t Alignment>
void* aligned_alloc(std::size_t bytes) {
  return ::operator new(bytes, std::align_val_t(Alignment));
}
template <std::size_t Alignment>
void aligned_dealloc(void* memory) {
  ::operator delete(memory, std::align_val_t(Alignment));
}

// The order of numbers.
template <class T>
struct comparator : std::less<T> {
  static T min_value() { return std::numeric_limits<T>::lowest(); }
  static T max_value() { return std::numeric_limits<T>::max(); }
};

// STXXL's programs create it first. Disks are those of `config`.
class block_manager {
 public:
  static block_manager* get_instance() {
    static block_manager instance;
    return &instance;
  }
};

}  // namespace stxxl
