// Scans of vectors in order, and shuffling.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "xxl/sorter.h"
#include "xxl/stxxl/random.h"
#include "xxl/stxxl/vector_buffers.h"

namespace stxxl {

// Numbers of buffers are not used.

template <class VectorIterator, class UnaryFunction>
UnaryFunction for_each(VectorIterator begin, VectorIterator end, UnaryFunction function,
                       int_type = 0) {
  vector_bufreader<VectorIterator> in(begin, end);
  for (; !in.empty(); ++in) function(*in);
  return function;
}

// `function` may change the elements.
template <class VectorIterator, class UnaryFunction>
UnaryFunction for_each_m(VectorIterator begin, VectorIterator end, UnaryFunction function,
                         int_type = 0) {
  vector_bufreader<VectorIterator> in(begin, end);
  vector_bufwriter<VectorIterator> out(begin);
  for (; !in.empty(); ++in) {
    auto value = *in;
    function(value);
    out << value;
  }
  out.finish();
  return function;
}

template <class VectorIterator, class Generator>
void generate(VectorIterator begin, VectorIterator end, Generator generator, int_type = 0) {
  vector_bufwriter<VectorIterator> out(begin);
  typename VectorIterator::value_type value;
  for (; begin != end; ++begin) {
    value = generator();
    out << value;
  }
  out.finish();
}

template <class VectorIterator, class EqualityComparable>
VectorIterator find(VectorIterator begin, VectorIterator end, const EqualityComparable& value,
                    int_type = 0) {
  vector_bufreader<VectorIterator> in(begin, end);
  for (; !in.empty() && !(*in == value); ++in) ++begin;
  return begin;
}

// Every order is equally likely if `random(n)` gives each of [0, n) equally often: the elements are
// sorted by random numbers. M: memory in bytes.
template <class VectorIterator, class RandomNumberGenerator>
void random_shuffle(VectorIterator first, VectorIterator last, RandomNumberGenerator& random,
                    unsigned_type M) {
  using T = typename VectorIterator::value_type;
  struct Tagged {
    uint64 tag;
    T value;
  };
  xxl::sorter<Tagged> sorter(xxl::by(&Tagged::tag), detail::resources_of(M));
  constexpr unsigned kDraw = 1u << 31;
  for (vector_bufreader<VectorIterator> in(first, last); !in.empty(); ++in) {
    const auto high = static_cast<uint64>(random(kDraw));
    sorter.push({high << 32 | static_cast<uint64>(random(kDraw)), *in});
  }
  vector_bufwriter<VectorIterator> out(first);
  for (const Tagged& tagged : sorter) out << tagged.value;
  out.finish();
}
template <class VectorIterator>
void random_shuffle(VectorIterator first, VectorIterator last, unsigned_type M) {
  random_number<> random;
  stxxl::random_shuffle(first, last, random, M);
}

}  // namespace stxxl
