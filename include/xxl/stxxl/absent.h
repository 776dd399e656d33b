// What of STXXL is not there: fails to compile, and says so.
#pragma once

#include "xxl/stxxl/config.h"

namespace stxxl {

namespace detail {

template <class>
inline constexpr bool kNever = false;

}  // namespace detail

#define XXL_STXXL_IS_NOT_THERE(name, parameters, instead)                              \
  template <class T, parameters>                                                       \
  class name {                                                                         \
    static_assert(detail::kNever<T>, "stxxl::" #name " is not part of xxl: " instead); \
  }
#define XXL_STXXL_ANY class... Rest
#define XXL_STXXL_MAP \
  class Data, class Compare, unsigned NodeBytes = 16384, unsigned LeafBytes = 131072, class... Rest
XXL_STXXL_IS_NOT_THERE(map, XXL_STXXL_MAP, "sort and join, or use a key-value store");
XXL_STXXL_IS_NOT_THERE(unordered_map, XXL_STXXL_ANY, "sort and join, or use a key-value store");
XXL_STXXL_IS_NOT_THERE(sequence, XXL_STXXL_ANY, "use stxxl::vector");
XXL_STXXL_IS_NOT_THERE(matrix, XXL_STXXL_ANY, "there is nothing like it");
#undef XXL_STXXL_ANY
#undef XXL_STXXL_MAP
#undef XXL_STXXL_IS_NOT_THERE

}  // namespace stxxl
