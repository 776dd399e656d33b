// Sorts any number of records of a program: push, sort, pull.
//
//   xxl::sorter edges(xxl::by(&Edge::to, xxl::desc(&Edge::weight)), {.memory_bytes = 1 << 30});
//   while (more()) edges.push(make_edge());
//   edges.sort();
//   for (const Edge& edge : edges) use(edge);
//
// Sources: see xxl/sort.h, which has the same engine; Dementiev, Kettner and Sanders, "STXXL:
// standard template library for XXL data sets" (2008), section 3.4 (streams), for the interface.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "xxl/any_length.h"
#include "xxl/comparator.h"
#include "xxl/error.h"
#include "xxl/groups.h"
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
// std::less and std::greater of numbers are replaced by order<T>. T and Order can be left out if a
// comparator is a lambda or function that names the type: xxl::sorter s([](const Row& a, const Row&
// b) { ... }).
//
// All members except clear() may throw Error. The next call throws what failed in the background,
// for example Error{io} for a full disk.
template <class T, class Order>
class sorter : public pull_interface<sorter<T, Order>, T>,
               public group_interface<sorter<T, Order>, T> {
  using Pulled = pull_interface<sorter<T, Order>, T>;
  friend Pulled;
  friend group_interface<sorter<T, Order>, T>;

  static_assert(is_record_v<T>,
                "records are written to disk as their bytes, so copying one must copy its bytes: "
                "see xxl::is_record, or give a format as in xxl/any_length.h");
  static_assert(std::is_invocable_r_v<bool, const Order&, const T&, const T&>,
                "an order is xxl::by(...), or a comparator with bool operator()(const T&, const "
                "T&) const");

 public:
  // Equal records come out in the order in which they were pushed.
  // Throws Error{no_space} if `shared` has less free memory than wanted, or too little to sort.
  template <std::same_as<resources> Shared>
  explicit sorter(Order by, const Shared& shared, sorter_options options = {})
      : order_(std::move(by)), bytes_(shared, spec(order_, options)) {}
  // The same with resources of its own.
  explicit sorter(Order by = Order(), resource_options own = {}, sorter_options options = {})
      : sorter(std::move(by), resources(std::move(own)), options) {}

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
  [[nodiscard]] std::uint64_t size() const { return bytes_.pushed() / sizeof(T); }

  // Ends the input. Does not wait. Pulling does the same, but empty() does not.
  void sort() { bytes_.end(); }

  // Whether there is nothing to pull. While records are pushed: nothing to pull yet. With unique
  // and skip, use sort() first: it throws Error{usage} before.
  [[nodiscard]] bool empty() {
    return bytes_.ended() ? Pulled::empty() : detail::gives_nothing(size(), bytes_.options());
  }
  // The remaining records, as an input range.
  typename Pulled::iterator begin() {
    sort();
    return Pulled::begin();
  }

  // Pulls from the start again. Throws Error{usage} unless options.repeatable.
  void rewind() {
    this->forget();
    bytes_.rewind();
  }
  // How the records were sorted, and on which device (plan.device). Throws Error{usage} until the
  // last record was pulled. SortReport is defined in <xxl/sort.h>.
  [[nodiscard]] const SortReport& report() const { return bytes_.report(); }
  // Removes all records. The sorter can be filled again.
  void clear() noexcept {
    this->forget();
    bytes_.clear();
  }

 private:
  using Keyed = order<T>;
  static constexpr bool kIsKeyed =
      std::is_same_v<Order, Keyed> ||
      (detail::is_number<T> &&
       (std::is_same_v<Order, std::less<>> || std::is_same_v<Order, std::less<T>> ||
        std::is_same_v<Order, std::greater<>> || std::is_same_v<Order, std::greater<T>>));

  // Records with a large alignment are sorted by keys only.
  static constexpr bool kHasLess =
      !detail::is_key<T> && detail::has_less<T> && alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__;
  template <class Compare>
  using Compared = detail::ComparedOrder<T, Compare>;

  static detail::SorterSpec spec(const Order& by, const sorter_options& options) {
    detail::SorterSpec spec{.options = options, .record_bytes = sizeof(T)};
    if constexpr (kIsKeyed) {
      const Keyed& keyed = by;
      if constexpr (kHasLess) {
        if (!keyed.has_key()) {
          spec.order = detail::OwnOrder(new Compared<std::less<T>>(std::less<T>()));
        }
      }
      if (spec.order.get() == nullptr) spec.key = keyed.parts();
    } else {
      spec.order = detail::OwnOrder(new Compared<Order>(by));
    }
    return spec;
  }
  T group_key() { return **this; }
  bool is_of_group(const T& key) {
    if constexpr (kIsKeyed) {
      const Keyed& keyed = order_;
      return keyed.equal(key, **this);
    } else {
      return !order_(key, **this) && !order_(**this, key);
    }
  }
  void lose_group() {
    this->forget();
    bytes_.lose_group();
  }
  std::span<const std::byte> next_block() { return bytes_.next(); }

  Order order_;
  detail::SorterBytes bytes_;
};

// From the order: the type of its records.
template <class Order, std::same_as<resources> Shared>
sorter(Order, const Shared&, sorter_options = {}) -> sorter<detail::OrderedType<Order>, Order>;
// The same.
template <class Order>
sorter(Order, resource_options = {}, sorter_options = {})
    -> sorter<detail::OrderedType<Order>, Order>;

}  // namespace xxl
