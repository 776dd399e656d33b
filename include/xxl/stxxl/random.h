// STXXL's generators of random numbers.
//
// random_number32 and those that use it give the numbers that STXXL's give for the same seed.
#pragma once

#include <atomic>
#include <chrono>
#include <random>

#include "xxl/stxxl/config.h"

namespace stxxl {

namespace detail {

inline std::atomic<unsigned> next_seed =
    static_cast<unsigned>(std::chrono::steady_clock::now().time_since_epoch().count());

}  // namespace detail

inline void set_seed(unsigned seed) {
  detail::next_seed = seed;
}
// Another one with each call.
inline unsigned get_next_seed() {
  return detail::next_seed++;
}

inline unsigned ran32State = get_next_seed();
inline void srandom_number32(unsigned seed = 0) {
  ran32State = seed != 0 ? seed : get_next_seed();
}

// [0, 2^32), by a state that all share: for one thread.
struct random_number32 {
  using value_type = unsigned;
  value_type operator()() const { return ran32State = 1664525 * ran32State + 1013904223; }
  value_type operator()(value_type n) const { return operator()() % n; }
};

// The same with a state of its own.
struct random_number32_r {
  using value_type = unsigned;
  explicit random_number32_r(unsigned seed = 0) : state(seed != 0 ? seed : get_next_seed()) {}
  value_type operator()() const { return state = 1664525 * state + 1013904223; }
  mutable unsigned state;
};

// [0, 256)
class random_number8_r {
 public:
  using value_type = uint8;
  explicit random_number8_r(unsigned seed = 0) : numbers_(seed) {}
  value_type operator()() {
    if (left_ == 0) {
      number_ = numbers_();
      left_ = 4;
    }
    const auto byte = static_cast<value_type>(number_);
    number_ >>= 8;
    --left_;
    return byte;
  }

 private:
  random_number32_r numbers_;
  unsigned number_ = 0, left_ = 0;
};

// [0, 1)
struct random_uniform_fast {
  using value_type = double;
  explicit random_uniform_fast(unsigned = 0) {}
  value_type operator()() const { return double(random_number32()()) * (0.5 / 0x80000000); }
};
struct random_uniform_slow {
  using value_type = double;
  explicit random_uniform_slow(unsigned seed = 0) : engine(seed != 0 ? seed : get_next_seed()) {}
  value_type operator()() const { return std::uniform_real_distribution<>()(engine); }
  mutable std::default_random_engine engine;
};

// [0, n)
template <class Uniform = random_uniform_fast>
struct random_number {
  using value_type = unsigned;
  explicit random_number(unsigned seed = 0) : uniform(seed) {}
  value_type operator()(value_type n) const {
    return static_cast<value_type>(uniform() * double(n));
  }
  Uniform uniform;
};

// [0, 2^64)
struct random_number64 {
  using value_type = uint64;
  explicit random_number64(unsigned seed = 0) : engine(seed != 0 ? seed : get_next_seed()) {}
  value_type operator()() const { return engine(); }
  value_type operator()(value_type n) const { return engine() % n; }
  mutable std::mt19937_64 engine;
};

}  // namespace stxxl
