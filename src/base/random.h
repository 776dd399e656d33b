// A small fast generator of random numbers (SplitMix64) for sampling and allocation; not for data
// that must be unpredictable. Satisfies UniformRandomBitGenerator.
#pragma once

#include <cstdint>

namespace xxl {

class Random {
 public:
  using result_type = std::uint64_t;
  explicit Random(std::uint64_t seed) : state_(seed) {}

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }

  result_type operator()() {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

  // Uniform in [0, limit); limit > 0.
  std::uint64_t below(std::uint64_t limit) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>((*this)()) * limit) >> 64);
  }

 private:
  std::uint64_t state_;
};

}  // namespace xxl
