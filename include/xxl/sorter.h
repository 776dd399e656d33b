// Sorts records of a program, however many: push, sort, pull.
//
//   xxl::sorter<Edge> edges(xxl::by(&Edge::to).then(&Edge::from), resources);
//   while (more()) edges.push(make_edge());
//   edges.sort();
//   for (const Edge& edge : edges) use(edge);
//
// Sources: as of xxl/sort.h, whose engine it is; Dementiev, Kettner and Sanders, "STXXL: standard
// template library for XXL data sets" (2008), section 3.4 (streams), for the interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "xxl/any_length.h"
#include "xxl/comparator.h"
#include "xxl/error.h"
#include "xxl/order.h"
#include "xxl/resources.h"
#include "xxl/sorter_core.h"

namespace xxl {

// One thread at a time. Several sorters may be used at the same time. After an exception a sorter
// can be destroyed or cleared, and nothing else; scratch space is gone then.
//
// Order: order<T> (xxl/order.h), by which records are sorted as numbers, or any comparator: a
// strict weak order, called from many threads at once, which must not throw. Those of the standard
// library for numbers are the former.
//
// All members but clear() may throw Error: what failed on the way (a disk that is full, Error{io})
// is thrown by whichever call comes next.
template <class T, class Order>
class sorter {
  static_assert(std::is_trivially_copyable_v<T>,
                "records are written to disk as they are: they must be trivially copyable");

 public:
  // The record.
  using value_type = T;

  // Equal records come out in the order in which they were pushed.
  // Throws Error{no_space} if less memory than wanted is free in `shared`, or too little to sort.
  explicit sorter(Order by = Order(), const resources& shared = resources(),
                  sorter_options options = {})
      : order_(std::move(by)), bytes_(shared, spec(order_, options)) {}

  // The other one is as after clear().
  sorter(sorter&& other) noexcept : order_(other.order_), bytes_(std::move(other.bytes_)) {
    take(other);
  }
  sorter& operator=(sorter&& other) noexcept {
    if (this == &other) return *this;
    order_ = other.order_;
    bytes_ = std::move(other.bytes_);
    take(other);
    return *this;
  }

  // Adds records, which are copied.
  void push(const T& record) {
    if (bytes_.room() == 0) bytes_.make_room();
    bytes_.put(&record, sizeof(T));
  }
  void push(std::span<const T> records) { bytes_.put_all(records.data(), records.size_bytes()); }
  // Records that were pushed.
  std::uint64_t size() const { return bytes_.pushed() / sizeof(T); }

  // No more records follow. Does not wait. (What pulls does it as well.)
  void sort() { bytes_.end(); }

  // Pulling one by one: for (; !s.empty(); ++s) use(*s). A record is valid until the next one.
  bool empty() {
    if (first_ == last_) load();
    return first_ == last_;
  }
  const T& operator*() const { return *first_; }
  const T* operator->() const { return first_; }
  sorter& operator++() {
    ++first_;
    return *this;
  }
  // The next records in order, of which there are some thousand as a rule; none at the end. Valid
  // until the next call.
  std::span<const T> pull() {
    if (first_ == last_) load();
    return {std::exchange(first_, last_), last_};
  }
  // The next group of records with equal keys as one: `sum` is its first one, and fold(sum, next)
  // was called with the others in order. False at the end.
  template <class Fold>
  bool pull_reduced(T& sum, Fold&& fold) {
    if (empty()) return false;
    sum = *first_;
    const T key = sum;
    while (++first_, !empty() && has_equal_key(key, *first_)) fold(sum, *first_);
    return true;
  }

  // Pulls from the start again. Throws Error{usage} unless options.repeatable.
  void rewind() {
    first_ = last_ = nullptr;
    bytes_.rewind();
  }
  // Forgets all records: can be filled again.
  void clear() noexcept {
    first_ = last_ = nullptr;
    bytes_.clear();
  }

  // What is left to pull, as an input range.
  using iterator = detail::PullIterator<sorter>;
  // All that is left; moves on with the iterator.
  iterator begin() { return iterator(*this); }
  std::default_sentinel_t end() const { return {}; }  // of begin()

 private:
  using Keyed = order<T>;
  static constexpr bool kHasKey =
      std::is_same_v<Order, Keyed> ||
      (detail::is_number<T> &&
       (std::is_same_v<Order, std::less<>> || std::is_same_v<Order, std::less<T>> ||
        std::is_same_v<Order, std::greater<>> || std::is_same_v<Order, std::greater<T>>));

  static detail::SorterSpec spec(const Order& by, const sorter_options& options) {
    detail::SorterSpec spec{.options = options, .record_bytes = sizeof(T)};
    if constexpr (kHasKey) {
      spec.key = Keyed(by).parts();
    } else {
      spec.order = std::make_shared<detail::ComparedOrder<T, Order>>(by);
    }
    return spec;
  }
  bool has_equal_key(const T& a, const T& b) const {
    if constexpr (kHasKey) {
      return Keyed(order_).equal(a, b);
    } else {
      return !order_(a, b) && !order_(b, a);
    }
  }
  void load() {
    first_ = last_ = nullptr;
    const std::span<const std::byte> block = bytes_.next();
    first_ = reinterpret_cast<const T*>(block.data());
    last_ = first_ + block.size() / sizeof(T);
  }
  void take(sorter& other) noexcept {
    first_ = std::exchange(other.first_, nullptr);
    last_ = std::exchange(other.last_, nullptr);
  }

  Order order_;
  detail::SorterBytes bytes_;
  const T* first_ = nullptr;  // of those to be pulled
  const T* last_ = nullptr;
};

}  // namespace xxl
