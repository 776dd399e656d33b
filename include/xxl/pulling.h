// How records are pulled that lie side by side in blocks.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "xxl/error.h"
#include "xxl/std_parts.h"

namespace xxl {

namespace detail {

// The remaining records, as an input range.
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

// Thrown by access after the last record.
[[noreturn]] inline void throw_at_end() {
  throw Error(ErrorCode::usage, "all records have been pulled: empty() says so beforehand");
}

}  // namespace detail

// Pulling for sorters and files (Self). Self has next_block(): the next records as bytes, valid
// until the next call, and empty at the end.
template <class Self, class T>
class pull_interface {
 public:
  using value_type = T;  // the record

  // One by one: for (; !s.empty(); ++s) use(*s). A record is valid until the next one. At the end,
  // everything except empty() throws Error{usage}.
  [[nodiscard]] bool empty() {
    if (first_ == last_) load();
    return first_ == last_;
  }
  const T& operator*() const { return *next(); }
  const T* operator->() const { return next(); }
  Self& operator++() {
    first_ = next() + 1;
    return static_cast<Self&>(*this);
  }
  // The next records, usually several thousand. Empty at the end. Valid until the next call.
  [[nodiscard]] std::span<const T> pull() {
    if (first_ == last_) load();
    return {std::exchange(first_, last_), last_};
  }

  // The remaining records, as an input range.
  using iterator = detail::PullIterator<Self>;
  // The remaining records. Moves on with the iterator.
  iterator begin() { return iterator(static_cast<Self&>(*this)); }
  std::default_sentinel_t end() const { return {}; }  // end of the range

 protected:
  pull_interface() = default;
  // `other` is then empty.
  pull_interface(pull_interface&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)), last_(std::exchange(other.last_, nullptr)) {}

  // `other` is then empty.
  pull_interface& operator=(pull_interface&& other) noexcept {
    first_ = std::exchange(other.first_, nullptr);
    last_ = std::exchange(other.last_, nullptr);
    return *this;
  }
  // Removes the pulled records.
  void forget() { first_ = last_ = nullptr; }

 private:
  // The next record, loaded if necessary.
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
