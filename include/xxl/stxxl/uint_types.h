// Unsigned numbers of 5 and 6 bytes.
#pragma once

#include <limits>
#include <ostream>

#include "xxl/stxxl/config.h"

namespace stxxl {

// The low 32 bits, then the high ones, without a gap. It is calculated with, and
// compared, as uint64.
template <class High>
class [[gnu::packed]] uint_pair {
 public:
  using low_type = uint32;
  using high_type = High;
  static constexpr std::size_t digits = 8 * (sizeof(low_type) + sizeof(high_type));
  static constexpr std::size_t bytes = digits / 8;

  uint_pair() = default;
  constexpr uint_pair(low_type low, high_type high) : low_(low), high_(high) {}
  constexpr uint_pair(uint32 number) : uint_pair(number, 0) {}
  constexpr uint_pair(int32 number) : uint_pair(static_cast<uint64>(number)) {}
  // The low `digits` bits.
  constexpr uint_pair(uint64 number)
      : low_(static_cast<low_type>(number)), high_(static_cast<high_type>(number >> 32)) {}

  constexpr uint64 ull() const { return static_cast<uint64>(high_) << 32 | low_; }
  constexpr uint64 u64() const { return ull(); }
  constexpr operator uint64() const { return ull(); }

  constexpr uint_pair& operator++() { return *this += 1; }
  constexpr uint_pair& operator--() { return *this = uint_pair(ull() - 1); }
  constexpr uint_pair& operator+=(const uint_pair& other) {
    return *this = uint_pair(ull() + other.ull());
  }
  friend std::ostream& operator<<(std::ostream& out, const uint_pair& number) {
    return out << number.ull();
  }

  static constexpr uint_pair min() { return {0, 0}; }
  static constexpr uint_pair max() {
    return {std::numeric_limits<low_type>::max(), std::numeric_limits<high_type>::max()};
  }

 private:
  low_type low_;
  high_type high_;
};

using uint40 = uint_pair<uint8>;
using uint48 = uint_pair<uint16>;

}  // namespace stxxl

template <class High>
class std::numeric_limits<stxxl::uint_pair<High>> {
 public:
  static constexpr bool is_specialized = true, is_signed = false, is_integer = true,
                        is_exact = true;
  static constexpr int radix = 2, digits = static_cast<int>(stxxl::uint_pair<High>::digits);
  static constexpr stxxl::uint_pair<High> min() { return stxxl::uint_pair<High>::min(); }
  static constexpr stxxl::uint_pair<High> lowest() { return min(); }
  static constexpr stxxl::uint_pair<High> max() { return stxxl::uint_pair<High>::max(); }
};
