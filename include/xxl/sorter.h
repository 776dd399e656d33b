// Sorts any number of records of a program: push, sort, pull.
//
//   xxl::sorter<Edge> edges(xxl::by(&Edge::to).then(&Edge::from), resources);
//   while (more()) edges.push(make_edge());
//   edges.sort();
//   for (const Edge& edge : edges) use(edge);
//
// Sources: see xxl/sort.h, which has the same engine; Dementiev, Kettner and Sanders, "STXXL:
// standard template library for XXL data sets" (2008), section 3.4 (streams), for the interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "xxl/any_length.h"
#include "xxl/comparator.h"
#include "xxl/error.h"
#include "xxl/is_record.h"
#include "xxl/order.h"
#include "xxl/pulling.h"
#include "xxl/resources.h"
#include "xxl/sorter_core.h"
#include "xxl/std_parts.h"

namespace xxl {

// One thread at a time may use a sorter. Several sorters may be used at the same time. After an
// exception a sorter can only be destroyed or cleared. Its scratch space is then gone.
//
// Order: order<T> (xxl/order.h), which sorts by radix, or any comparator. A comparator is a strict
// weak order, and is called by many threads at once. What it throws is thrown by the next call.
// std::less and std::greater of numbers are replaced by order<T>.
//
// All members except clear() may throw Error. The next call throws what failed in the background,
// for example Error{io} for a full disk.
template <class T, class Order>
class sorter : public pull_interface<sorter<T, Order>, T> {
  using Pulled = pull_interface<sorter<T, Order>, T>;
  friend Pulled;

  static_assert(is_record_v<T>, "records are written to disk as their bytes: see xxl::is_record");

 public:
  // Equal records come out in the order in which they were pushed.
  // Throws Error{no_space} if `shared` has less free memory than wanted, or too little to sort.
  explicit sorter(Order by = Order(), const resources& shared = resources(),
                  sorter_options options = {})
      : order_(std::move(by)), bytes_(shared, spec(order_, options)) {}

  // `other` is then empty, as after clear().
  sorter(sorter&& other) noexcept
      : Pulled(std::move(other)), order_(other.order_), bytes_(std::move(other.bytes_)) {}
  sorter& operator=(sorter&& other) noexcept {
    if (this == &other) return *this;
    Pulled::operator=(std::move(other));
    order_ = other.order_;
    bytes_ = std::move(other.bytes_);
    return *this;
  }

  // Adds copies of records.
  void push(const T& record) {
    if (bytes_.room() == 0) bytes_.make_room();
    bytes_.put(&record, sizeof(T));
  }
  void push(std::span<const T> records) { bytes_.put_all(records.data(), records.size_bytes()); }
  // Number of pushed records.
  std::uint64_t size() const { return bytes_.pushed() / sizeof(T); }

  // Ends the input. Does not wait. Pulling does the same, but empty() does not.
  void sort() { bytes_.end(); }

  // Whether there is nothing to pull. While records are pushed: nothing to pull yet. With unique
  // and skip, use sort() first: it throws Error{usage} before.
  bool empty() {
    return bytes_.ended() ? Pulled::empty() : detail::gives_nothing(size(), bytes_.options());
  }
  // The remaining records, as an input range.
  typename Pulled::iterator begin() {
    sort();
    return Pulled::begin();
  }

  // The next group of records with equal keys as one. `sum` is its first record, and fold(sum,
  // next) was called with the others in order. False at the end. If `fold` throws, the rest of its
  // group is lost. The sorter can then only be rewound, cleared or destroyed.
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
  // How the records were sorted, and on which device (plan.device). Throws Error{usage} until the
  // last record was pulled. SortReport is defined in <xxl/sort.h>.
  const SortReport& report() const { return bytes_.report(); }
  // Removes all records. The sorter can be filled again.
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
      spec.order = detail::OwnOrder(new detail::ComparedOrder<T, Order>(by));
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
