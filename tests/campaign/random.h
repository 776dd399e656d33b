// Random choices that are the same everywhere for the same seed (those of <random> are not).
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>

#include "base/random.h"

namespace xxl::campaign {

class Random : public xxl::Random {
 public:
  using xxl::Random::Random;

  std::uint64_t between(std::uint64_t least, std::uint64_t most) {
    return least + below(most - least + 1);
  }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

  // One of them; there must be some.
  template <typename Range>
  decltype(auto) pick(Range&& range) {
    return *std::next(std::begin(range), static_cast<std::ptrdiff_t>(below(std::size(range))));
  }
  template <typename T>
  T pick(std::initializer_list<T> list) {
    return *(list.begin() + below(list.size()));
  }
};

}  // namespace xxl::campaign
