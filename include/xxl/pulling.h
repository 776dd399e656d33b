// How records that lie side by side in blocks are pulled.
#pragma once

#include <cstddef>
#include <iterator>
#include <span>
#include <utility>

#include "xxl/error.h"

namespace xxl {

namespace detail {

// What is left to pull, as an input range.
template <class Source>
class PullIterator {
 public:
  using value_type = typename Source::value_type;
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::input_iterator_tag;

  PullIterator() = default;
  explicit PullIterator(Source& of) : of_(&of) {}
  decltype(auto) operator*() const { return **of_; }
  PullIterator& operator++() {
    ++*of_;
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const PullIterator& it, std::default_sentinel_t) {
    return it.of_->empty();
  }

 private:
  Source* of_ = nullptr;
};

// For what asks for a record, or goes on to the one after it, where there is none.
[[noreturn]] inline void throw_at_end() {
  throw Error(ErrorCode::usage, "all records have been pulled: empty() says so beforehand");
}

}  // namespace detail

// Pulling, of sorters and files (Self). Self has next_block(): the next records as bytes, until the
// next call; none at the end.
template <class Self, class T>
class pull_interface {
 public:
  using value_type = T;  // the record

  // One by one: for (; !s.empty(); ++s) use(*s). A record is valid until the next one. At the end
  // only empty() does not throw Error{usage}.
  bool empty() {
    if (first_ == last_) load();
    return first_ == last_;
  }
  const T& operator*() const { return *next(); }
  const T* operator->() const { return next(); }
  Self& operator++() {
    first_ = next() + 1;
    return static_cast<Self&>(*this);
  }
  // The next records, of which there are some thousand as a rule; none at the end. Valid until the
  // next call.
  std::span<const T> pull() {
    if (first_ == last_) load();
    return {std::exchange(first_, last_), last_};
  }

  // What is left, as an input range.
  using iterator = detail::PullIterator<Self>;
  // All that is left; moves on with the iterator.
  iterator begin() { return iterator(static_cast<Self&>(*this)); }
  std::default_sentinel_t end() const { return {}; }  // of begin()

 protected:
  pull_interface() = default;
  // The other one has nothing left.
  pull_interface(pull_interface&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)), last_(std::exchange(other.last_, nullptr)) {}

  // The other one has nothing left.
  pull_interface& operator=(pull_interface&& other) noexcept {
    first_ = std::exchange(other.first_, nullptr);
    last_ = std::exchange(other.last_, nullptr);
    return *this;
  }
  // What was pulled is gone.
  void forget() { first_ = last_ = nullptr; }

 private:
  // The next record, which is loaded if that has not been done.
  const T* next() const {
    if (first_ == last_) const_cast<pull_interface*>(this)->load();
    if (first_ == last_) detail::throw_at_end();
    return first_;
  }
  void load() {
    forget();
    const std::span<const std::byte> block = static_cast<Self&>(*this).next_block();
    first_ = reinterpret_cast<const T*>(block.data());
    last_ = first_ + block.size() / sizeof(T);
  }

  const T* first_ = nullptr;
  const T* last_ = nullptr;
};

}  // namespace xxl
