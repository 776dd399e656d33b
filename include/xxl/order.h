// The order of records: by some of their members, or by what functions return for them.
//
//   struct Edge { std::uint32_t from, to; float weight; };
//   xxl::by(&Edge::from, xxl::desc(&Edge::weight))
//   xxl::by(&Edge::from).then(xxl::desc(&Edge::weight))               the same
//   xxl::by([](const Edge& e) { return e.from ^ e.to; })              by comparison
//   xxl::order<std::uint64_t>()                                       numbers, ascending
//   xxl::order<double>::descending()
//
// Keys are members with numbers or arrays of bytes (char, unsigned char, std::byte), which compare
// as unsigned bytes. Numbers are bool, integers and enumerations of up to 8 bytes, float and
// double. Floating-point numbers have the order of IEEE 754: -NaN < -inf < ... < -0.0 < +0.0 < ...
// < +inf < +NaN. What functions return has the same order if it is a number or an array of bytes.
// Other values are compared by <.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "xxl/error.h"
#include "xxl/std_parts.h"

namespace xxl {

template <class T>
class order;
template <class T, class Compare>
class projected_order;

namespace detail {

enum class KeyPartKind : std::uint8_t { unsigned_integer, signed_integer, floating, bytes };

// A member of the key: `bytes` at `offset` of the record.
struct KeyPart {
  std::size_t offset = 0;
  std::size_t bytes = 0;
  KeyPartKind kind = KeyPartKind::bytes;
  bool descending = false;
};

template <class M>
struct IsByteArray : std::false_type {};
template <class E, std::size_t kSize>
struct IsByteArray<E[kSize]> : std::bool_constant<sizeof(E) == 1> {};
template <class E, std::size_t kSize>
struct IsByteArray<std::array<E, kSize>> : std::bool_constant<sizeof(E) == 1> {};

template <class M>
constexpr bool is_number = (std::is_integral_v<M> || std::is_enum_v<M> ||
                            std::is_same_v<M, float> || std::is_same_v<M, double>)&&sizeof(M) <= 8;

template <class M>
constexpr bool is_key = is_number<M> || IsByteArray<M>::value;

template <class M>
concept has_less = requires(const M& a, const M& b) {
  static_cast<bool>(a < b);
};

template <class M>
constexpr KeyPart key_part(std::size_t offset) {
  static_assert(is_key<M>,
                "a key is made of numbers of up to 8 bytes, enumerations and arrays of bytes; for "
                "any other order give the sorter a comparator");
  KeyPart part{.offset = offset, .bytes = sizeof(M)};
  if constexpr (std::is_floating_point_v<M>) {
    part.kind = KeyPartKind::floating;
  } else if constexpr (std::is_enum_v<M>) {
    part.kind = key_part<std::underlying_type_t<M>>(offset).kind;
  } else if constexpr (std::is_integral_v<M>) {
    part.kind = std::is_signed_v<M> ? KeyPartKind::signed_integer : KeyPartKind::unsigned_integer;
  }
  return part;
}

// Negative, 0 or positive.
inline int compare_parts(const KeyPart& part, const void* a, const void* b) {
  if (part.kind == KeyPartKind::bytes) return std::memcmp(a, b, part.bytes);
  const std::uint64_t sign = std::uint64_t{1} << (8 * part.bytes - 1);
  const auto bits_of = [&](const void* value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, value, part.bytes);
    if (part.kind == KeyPartKind::unsigned_integer) return bits;
    const bool flips_all = part.kind == KeyPartKind::floating && (bits & sign) != 0;
    return bits ^ (flips_all ? sign | (sign - 1) : sign);
  };
  const std::uint64_t bits_a = bits_of(a), bits_b = bits_of(b);
  return (bits_a > bits_b) - (bits_a < bits_b);
}
template <class M>
int compare_values(const M& a, const M& b) {
  if constexpr (is_key<M>) {
    return compare_parts(key_part<M>(0), &a, &b);
  } else {
    static_assert(has_less<M> && !std::is_pointer_v<M>,
                  "records are ordered by numbers, enumerations, arrays of bytes, text as "
                  "std::string_view, and types that have an operator<");
    return static_cast<int>(static_cast<bool>(b < a)) - static_cast<int>(static_cast<bool>(a < b));
  }
}

template <class T, class P>
std::size_t offset_of(P member) {
  alignas(T) const std::byte record[sizeof(T)] = {};
  const auto* place = &(reinterpret_cast<const T*>(record)->*member);
  return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(place) - record);
}

// The type of the records that an order, a member, a function or a record_format is for.
template <class C, class R, class A, class... More>
std::remove_cvref_t<A> first_parameter(R (C::*)(A, More...) const);
template <class R, class A, class... More>
std::remove_cvref_t<A> first_parameter(R (*)(A, More...));
template <class T>
T ordered_type(const order<T>&);
template <class M, class C>
C ordered_type(M C::*const&);
template <class R, class A, class... More>
std::remove_cvref_t<A> ordered_type(R (*const&)(A, More...));
template <class F>
auto ordered_type(const F&) -> decltype(first_parameter(&F::operator()));
template <class F>
auto ordered_type(const F&) -> decltype(first_parameter(&F::append_record));
template <class Order>
using OrderedType = decltype(ordered_type(std::declval<const Order&>()));

// The value of a projection (a member or a function) for `record`.
template <class P, class T>
decltype(auto) project(const P& projection, const T& record) {
  if constexpr (std::is_member_object_pointer_v<P>) {
    return (record.*projection);
  } else if constexpr (std::is_member_function_pointer_v<P>) {
    return (record.*projection)();
  } else {
    return projection(record);
  }
}

// By a member or by what a function returns.
template <class P>
struct Projection {
  P projection;
  bool descending;

  template <class T>
  int operator()(const T& a, const T& b) const {
    const auto& of_a = project(projection, a);
    const auto& of_b = project(projection, b);
    return descending ? compare_values(of_b, of_a) : compare_values(of_a, of_b);
  }
};

// By one order, then by another.
template <class First, class Next>
struct Chained {
  First first;
  Next next;

  template <class T>
  int operator()(const T& a, const T& b) const {
    const int compared = first.compare(a, b);
    return compared != 0 ? compared : next.compare(a, b);
  }
};

template <class T, class P>
auto order_of(P projection, bool descending) {
  using Value = std::remove_cvref_t<std::invoke_result_t<const P&, const T&>>;
  if constexpr (std::is_member_object_pointer_v<P> && is_key<Value>) {
    KeyPart part = key_part<Value>(offset_of<T>(projection));
    part.descending = descending;
    return order<T>(part);
  } else {
    return projected_order<T, Projection<P>>({std::move(projection), descending});
  }
}

template <class T, class Base>
order<T> part_of(order<Base> part) {
  return part;
}
template <class T, class Base, class Compare>
auto part_of(projected_order<Base, Compare> part) {
  return part;
}
template <class T, class P>
auto part_of(P projection) {
  return order_of<T>(std::move(projection), false);
}

template <class T, class First, class Next>
auto chain(First first, Next next) {
  return projected_order<T, Chained<First, Next>>({std::move(first), std::move(next)});
}
template <class T>
order<T> chain(order<T> first, const order<T>& next) {
  first.append(next);
  return first;
}

}  // namespace detail

// Orders T by some members, a number as a whole, or other types by their operator<.
template <class T>
class order {
 public:
  // The order of numbers and arrays of bytes by value, ascending. Other types are compared by
  // their operator<.
  order() {
    if constexpr (detail::is_key<T>) {
      parts_.push_back(detail::key_part<T>(0));
    } else {
      static_assert(detail::has_less<T>,
                    "records without an operator< need an order, such as xxl::by(&Record::member)");
    }
  }
  // Only for numbers and arrays of bytes.
  static order descending() {
    order result(detail::key_part<T>(0));
    result.parts_.front().descending = true;
    return result;
  }

  // The same orders by their names in the standard library.
  order(std::less<>) : order() {}
  order(std::less<T>) : order() {}
  order(std::greater<>) : order(descending()) {}
  order(std::greater<T>) : order(descending()) {}

  // By members of a base class.
  template <class Base>
  requires(!std::is_same_v<Base, T> && std::is_base_of_v<Base, T>) order(const order<Base>& base)
      : parts_(base.parts()) {
    alignas(T) const std::byte record[sizeof(T)] = {};
    const Base* place = reinterpret_cast<const T*>(record);
    for (detail::KeyPart& part : parts_) {
      part.offset += static_cast<std::size_t>(reinterpret_cast<const std::byte*>(place) - record);
    }
  }
  // For by() and desc().
  explicit order(detail::KeyPart part) : parts_{part} {}

  // Adds an order for records equal so far: a member, a function, or another order. See by().
  template <class P>
  [[nodiscard]] auto then(P next) const {
    return detail::chain<T>(*this, detail::part_of<T>(std::move(next)));
  }

  // Whether `a` is before `b`, as a comparator says it.
  [[nodiscard]] bool operator()(const T& a, const T& b) const { return compare(a, b) < 0; }
  // Negative if `a` is before `b`, positive if it is after it, 0 if they are equal in this order.
  [[nodiscard]] int compare(const T& a, const T& b) const {
    if constexpr (!detail::is_key<T> && detail::has_less<T>) {
      if (!has_key()) return detail::compare_values(a, b);
    }
    for (const detail::KeyPart& part : parts_) {
      const int compared = detail::compare_parts(part, at(a, part), at(b, part));
      if (compared != 0) return (compared > 0) == part.descending ? -1 : 1;
    }
    return 0;
  }
  // Whether the two records are equal in this order.
  [[nodiscard]] bool equal(const T& a, const T& b) const {
    if (!has_key()) return compare(a, b) == 0;
    for (const detail::KeyPart& part : parts_) {
      if (std::memcmp(at(a, part), at(b, part), part.bytes) != 0) return false;
    }
    return true;
  }
  // For the library. Without a key, operator< orders.
  [[nodiscard]] bool has_key() const { return !parts_.empty(); }
  // For the library. Throws Error{usage} without a key.
  [[nodiscard]] const std::vector<detail::KeyPart>& parts() const {
    if (!has_key()) {
      throw Error(ErrorCode::usage,
                  "an order by operator< has no key: name members, as in xxl::by(&Record::member)");
    }
    return parts_;
  }
  // For then().
  void append(const order& next) {
    (void)parts();
    parts_.insert(parts_.end(), next.parts().begin(), next.parts().end());
  }

 private:
  static const std::byte* at(const T& record, const detail::KeyPart& part) {
    return reinterpret_cast<const std::byte*>(&record) + part.offset;
  }

  std::vector<detail::KeyPart> parts_;
};

// Orders T by what functions return: a comparator, made by by(), desc() and then().
template <class T, class Compare>
class projected_order {
 public:
  // `compare(a, b)`: as compare() below.
  explicit projected_order(Compare compare) : compare_(std::move(compare)) {}

  // See order::then().
  template <class P>
  [[nodiscard]] auto then(P next) const {
    return detail::chain<T>(*this, detail::part_of<T>(std::move(next)));
  }
  // Whether `a` is before `b`.
  [[nodiscard]] bool operator()(const T& a, const T& b) const { return compare(a, b) < 0; }
  // See order::compare().
  [[nodiscard]] int compare(const T& a, const T& b) const { return compare_(a, b); }

 private:
  Compare compare_;
};

// Ascending by a member, then by the next parts. A part is a member, a function (a lambda or a
// member function without arguments), or another order such as desc(). Members with numbers or
// arrays of bytes give an order<T>: a radix sort. Other parts give a projected_order: a sort by
// comparison.
//
// T is the type of the records. It is needed if `first` is a member of a base class, or a function
// with an `auto` parameter: by<Derived>(&Base::x).
template <class T, class P, class... Next>
auto by(P first, Next... next) {
  auto result = detail::part_of<T>(std::move(first));
  if constexpr (sizeof...(Next) == 0) {
    return result;
  } else {
    return detail::chain<T>(std::move(result), by<T>(std::move(next)...));
  }
}
// The same. `first` says the type of the records.
template <class P, class... Next>
auto by(P first, Next... next) {
  return by<detail::OrderedType<P>>(std::move(first), std::move(next)...);
}

// Descending by a member or by what a function returns. T: see by().
template <class T, class P>
auto desc(P projection) {
  return detail::order_of<T>(std::move(projection), true);
}
// The same. `projection` says the type of the records.
template <class P>
auto desc(P projection) {
  return desc<detail::OrderedType<P>>(std::move(projection));
}

}  // namespace xxl
