// Sorts a vector or another range of a program, in bounded memory of its own.
//
//   xxl::sort(edges, xxl::by(&Edge::to, xxl::desc(&Edge::weight)), {.memory_bytes = 1 << 30});
//
// Scratch space holds the records meanwhile. If there is memory for a copy of the range,
// sort_array() of xxl/array.h is faster.
#pragma once

#include <concepts>
#include <iterator>
#include <type_traits>
#include <utility>

#include "xxl/is_record.h"
#include "xxl/order.h"
#include "xxl/resources.h"
#include "xxl/sort.h"
#include "xxl/sorter.h"

namespace xxl {

namespace detail {

template <class Range>
concept sortable_range = requires(Range& range) {
  requires std::forward_iterator<decltype(std::begin(range))>;
  {*std::begin(range) = std::move(*std::begin(range))};
  std::end(range);
  std::size(range);
};
template <class Range>
using ElementOf = std::iter_value_t<decltype(std::begin(std::declval<Range&>()))>;

// An order by members of a base class of T is one of T.
template <class T, class Order>
struct SorterOrder {
  using type = Order;
};
template <class T, class Base>
struct SorterOrder<T, order<Base>> {
  using type = order<T>;
};

}  // namespace detail

// Sorts a range stably, with an order of sorters (see xxl/sorter.h). Throws what a sorter throws.
// After an exception the records may be lost.
template <detail::sortable_range Range, class Order = order<detail::ElementOf<Range>>,
          std::same_as<resources> Shared>
SortReport sort(Range&& range, Order by, const Shared& shared) {
  using T = detail::ElementOf<Range>;
  sorter_options options;
  if constexpr (is_record_v<T>) options.expected_records = std::size(range);
  sorter<T, typename detail::SorterOrder<T, Order>::type> sorted(std::move(by), shared, options);
  sorted.push_range(range);
  auto to = std::begin(range);
  for (auto&& record : sorted) *to++ = record;
  return sorted.report();
}
// The same with resources of its own.
template <detail::sortable_range Range, class Order = order<detail::ElementOf<Range>>>
SortReport sort(Range&& range, Order by = Order(), resource_options own = {}) {
  return xxl::sort(range, std::move(by), resources(std::move(own)));
}

}  // namespace xxl
