// Random numbers of a seed (splitmix64; Steele, Lea and Flood 2014).
#pragma once

#include <cstdint>

namespace xxl::machine {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // In [0, end); 0 if that is empty.
  std::uint64_t below(std::uint64_t end) { return end == 0 ? 0 : next() % end; }
  bool one_in(std::uint64_t n) { return n != 0 && below(n) == 0; }

 private:
  std::uint64_t state_;
};

}  // namespace xxl::machine
