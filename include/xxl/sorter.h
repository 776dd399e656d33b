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
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "xxl/any_length.h"
#include "xxl/comparator.h"
#include "xxl/error.h"
#include "xxl/order.h"
#include "xxl/pulling.h"
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
class sorter : public pull_interface<sorter<T, Order>, T> {
  using Pulled = pull_interface<sorter<T, Order>, T>;
  friend Pulled;

  static_assert(std::is_trivially_copyable_v<T>,
                "records are written to disk as they are: they must be trivially copyable");

 public:
  // Equal records come out in the order in which they were pushed.
  // Throws Error{no_space} if less memory than wanted is free in `shared`, or too little to sort.
  explicit sorter(Order by = Order(), const resources& shared = resources(),
                  sorter_options options = {})
      : order_(std::move(by)), bytes_(shared, spec(order_, options)) {}

  // The other one is as after clear().
  sorter(sorter&& other) noexcept
      : Pulled(std::move(other)), order_(other.order_), bytes_(std::move(other.bytes_)) {}
  sorter& operator=(sorter&& other) noexcept {
    if (this == &other) return *this;
    Pulled::operator=(std::move(other));
    order_ = other.order_;
    bytes_ = std::move(other.bytes_);
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

  // No more records follow. Does not wait. (What pulls does it as well, but not empty().)
  void sort() { bytes_.end(); }

  // There is nothing to pull. While records are pushed: nothing to pull yet (with unique and skip,
  // that is known only after sort(): Error{usage}).
  bool empty() {
    return bytes_.ended() ? Pulled::empty() : detail::gives_nothing(size(), bytes_.options());
  }
  // All that is left, as an input range.
  typename Pulled::iterator begin() {
    sort();
    return Pulled::begin();
  }

  // The next group of records with equal keys as one: `sum` is its first one, and fold(sum, next)
  // was called with the others in order. False at the end. If `fold` throws, the rest of its group
  // is lost: then the sorter can be rewound, cleared or destroyed, and nothing else.
  template <class Fold>
  bool pull_reduced(T& sum, Fold&& fold) {
    sort();
    if (this->empty()) return false;
    sum = **this;
    const T key = sum;
    try {
      while (++*this, !this->empty() && has_equal_key(key, **this)) fold(sum, **this);
    } catch (...) {
      this->forget();
      bytes_.lose_group();
      throw;
    }
    return true;
  }

  // Pulls from the start again. Throws Error{usage} unless options.repeatable.
  void rewind() {
    this->forget();
    bytes_.rewind();
  }
  // How they were sorted, and on what (plan.device), once the last record was pulled. Throws
  // Error{usage} before that.
  const SortReport& report() const { return bytes_.report(); }
  // Forgets all records: can be filled again.
  void clear() noexcept {
    this->forget();
    bytes_.clear();
  }

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
  std::span<const std::byte> next_block() { return bytes_.next(); }

  Order order_;
  detail::SorterBytes bytes_;
};

}  // namespace xxl
