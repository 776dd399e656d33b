// Streams: pipes of iterators.
#pragma once

#include <functional>
#include <iterator>
#include <tuple>
#include <type_traits>
#include <utility>

#include "xxl/stxxl/tuple.h"

namespace stxxl {

namespace stream {

template <class InputIterator>
class iterator2stream {
 public:
  using value_type = typename std::iterator_traits<InputIterator>::value_type;

  iterator2stream(InputIterator begin, InputIterator end) : at_(begin), end_(end) {}
  const value_type& operator*() const { return *at_; }
  const value_type* operator->() const { return &*at_; }
  iterator2stream& operator++() {
    ++at_;
    return *this;
  }
  bool empty() const { return at_ == end_; }

 private:
  InputIterator at_, end_;
};

template <class InputIterator>
iterator2stream<InputIterator> streamify(InputIterator begin, InputIterator end) {
  return {begin, end};
}
template <class InputIterator>
struct streamify_traits {
  using stream_type = iterator2stream<InputIterator>;
};

// op(*input_1, *input_2, ...)
template <class Operation, class... Inputs>
class transform {
 public:
  using value_type = typename Operation::value_type;

  transform(Operation& operation, Inputs&... inputs) : operation_(operation), inputs_(inputs...) {
    compute();
  }
  const value_type& operator*() const { return current_; }
  const value_type* operator->() const { return &current_; }
  transform& operator++() {
    std::apply([](Inputs&... input) { (++input, ...); }, inputs_);
    compute();
    return *this;
  }
  bool empty() const {
    return std::apply([](const Inputs&... input) { return (input.empty() || ...); }, inputs_);
  }

 private:
  void compute() {
    if (empty()) return;
    current_ =
        std::apply([this](Inputs&... input) { return value_type(operation_(*input...)); }, inputs_);
  }

  Operation& operation_;
  std::tuple<Inputs&...> inputs_;
  value_type current_{};
};

// The tuple of the elements of several streams.
template <class... Inputs>
struct tuple_of {
  using value_type = tuple<typename Inputs::value_type...>;
  value_type operator()(const typename Inputs::value_type&... values) const { return {values...}; }
};
template <class... Inputs>
class make_tuple : public transform<const tuple_of<Inputs...>, Inputs...> {
 public:
  explicit make_tuple(Inputs&... inputs)
      : transform<const tuple_of<Inputs...>, Inputs...>(kMake, inputs...) {}

 private:
  static constexpr tuple_of<Inputs...> kMake{};
};

// The numbers from `start` on.
template <class ValueType>
class counter {
 public:
  using value_type = ValueType;

  explicit counter(const value_type& start = value_type(0)) : count_(start) {}
  const value_type& operator*() const { return count_; }
  const value_type* operator->() const { return &count_; }
  counter& operator++() {
    ++count_;
    return *this;
  }
  bool empty() const { return false; }

 private:
  value_type count_;
};

// An endless stream: each element is the result of a call of `generator`.
template <class Generator, class T = typename Generator::value_type>
class generator2stream {
 public:
  using value_type = T;

  generator2stream(Generator generator)
      : generator_(std::move(generator)), current_(generator_()) {}
  const value_type& operator*() const { return current_; }
  const value_type* operator->() const { return &current_; }
  generator2stream& operator++() {
    current_ = generator_();
    return *this;
  }
  bool empty() const { return false; }

 private:
  Generator generator_;
  value_type current_;
};
template <class Generator>
generator2stream<Generator> streamify(Generator generator) {
  return {std::move(generator)};
}

// Member `Which` (from 1) of the tuples or pairs of a stream.
template <class Input, int Which>
class choose {
  static const auto& member(const typename Input::value_type& tuple) {
    static_assert(Which >= 1 && Which <= 6, "members are counted from 1 to 6");
    if constexpr (Which == 1) return tuple.first;
    if constexpr (Which == 2) return tuple.second;
    if constexpr (Which == 3) return tuple.third;
    if constexpr (Which == 4) return tuple.fourth;
    if constexpr (Which == 5) return tuple.fifth;
    if constexpr (Which == 6) return tuple.sixth;
  }

 public:
  using value_type =
      std::remove_cvref_t<decltype(member(std::declval<const typename Input::value_type&>()))>;

  explicit choose(Input& input) : input_(input) {}
  const value_type& operator*() const { return member(*input_); }
  const value_type* operator->() const { return &**this; }
  choose& operator++() {
    ++input_;
    return *this;
  }
  bool empty() const { return input_.empty(); }

 private:
  Input& input_;
};

// One stream, then the other.
template <class First, class Second>
class concatenate {
 public:
  using value_type = typename First::value_type;

  concatenate(First& first, Second& second) : first_(first), second_(second) {}
  const value_type& operator*() const { return first_.empty() ? *second_ : *first_; }
  const value_type* operator->() const { return &**this; }
  concatenate& operator++() {
    if (first_.empty()) {
      ++second_;
    } else {
      ++first_;
    }
    return *this;
  }
  bool empty() const { return first_.empty() && second_.empty(); }
  external_size_type size() const { return first_.size() + second_.size(); }

 private:
  First& first_;
  Second& second_;
};

// The first record of each stretch of records equal by `equal`.
template <class Input, class BinaryPredicate = std::equal_to<typename Input::value_type>>
class unique {
 public:
  using value_type = typename Input::value_type;

  explicit unique(Input& input, BinaryPredicate equal = BinaryPredicate())
      : input_(input), equal_(std::move(equal)) {
    if (!input_.empty()) current_ = *input_;
  }
  const value_type& operator*() const { return current_; }
  const value_type* operator->() const { return &current_; }
  unique& operator++() {
    const value_type last = current_;
    while (++input_, !input_.empty()) {
      current_ = *input_;
      if (!equal_(last, current_)) break;
    }
    return *this;
  }
  bool empty() const { return input_.empty(); }

 private:
  Input& input_;
  BinaryPredicate equal_;
  value_type current_{};
};

// Writes all of a stream to `out`. (Into vectors: xxl/stxxl/vector_buffers.h.)
template <class OutputIterator, class StreamAlgorithm>
OutputIterator materialize(StreamAlgorithm& in, OutputIterator out) {
  for (; !in.empty(); ++in, ++out) *out = *in;
  return out;
}
// Writes as much as there is room for.
template <class OutputIterator, class StreamAlgorithm>
OutputIterator materialize(StreamAlgorithm& in, OutputIterator begin, OutputIterator end) {
  for (; !in.empty() && begin != end; ++in, ++begin) *begin = *in;
  return begin;
}
template <class OutputIterator, class StreamAlgorithm>
OutputIterator materialize(StreamAlgorithm& in, OutputIterator begin, OutputIterator end,
                           unsigned_type) {
  return materialize(in, begin, end);
}
// Reads a stream to its end.
template <class StreamAlgorithm>
void discard(StreamAlgorithm& in) {
  while (!in.empty()) ++in;
}

}  // namespace stream

}  // namespace stxxl
