// The order of records: by some of their members.
//
//   struct Edge { std::uint32_t from, to; float weight; };
//   xxl::by(&Edge::from).then(xxl::desc(&Edge::weight))
//   xxl::order<std::uint64_t>()             numbers, ascending
//   xxl::order<double>::descending()
//
// Members are numbers or arrays of bytes (char, unsigned char, std::byte), which compare as
// unsigned bytes. Numbers are bool, integers and enumerations of up to 8 bytes, float and double.
// Floating-point numbers have the order of IEEE 754: -NaN < -inf < ... < -0.0 < +0.0 < ... < +inf <
// +NaN.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "xxl/std_parts.h"

namespace xxl {

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
constexpr KeyPart key_part(std::size_t offset) {
  static_assert(is_number<M> || IsByteArray<M>::value,
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

template <class T, class M>
std::size_t offset_of(M T::*member) {
  alignas(T) const std::byte record[sizeof(T)] = {};
  const auto* place = &(reinterpret_cast<const T*>(record)->*member);
  return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(place) - record);
}

}  // namespace detail

// Orders T by some members, or a number as a whole.
template <class T>
class order {
 public:
  // The order of numbers and arrays of bytes by value, ascending. For other types use by() and
  // desc().
  order() : parts_{detail::key_part<T>(0)} {}
  static order descending() {
    order result;
    result.parts_.front().descending = true;
    return result;
  }
  order(std::less<>) : order() {}
  order(std::less<T>) : order() {}
  order(std::greater<>) : order(descending()) {}
  order(std::greater<T>) : order(descending()) {}
  // For by() and desc().
  explicit order(detail::KeyPart part) : parts_{part} {}

  // Adds an order for records equal so far.
  order then(order next) && {
    parts_.insert(parts_.end(), next.parts_.begin(), next.parts_.end());
    return std::move(*this);
  }
  template <class M, class C>
  requires std::is_same_v<C, T> order then(M C::*member) && {
    return std::move(*this).then(order(detail::key_part<M>(detail::offset_of(member))));
  }

  // Whether the two records are equal in this order.
  bool equal(const T& a, const T& b) const {
    for (const detail::KeyPart& part : parts_) {
      if (std::memcmp(at(a, part), at(b, part), part.bytes) != 0) return false;
    }
    return true;
  }
  // For the library.
  const std::vector<detail::KeyPart>& parts() const { return parts_; }

 private:
  static const std::byte* at(const T& record, const detail::KeyPart& part) {
    return reinterpret_cast<const std::byte*>(&record) + part.offset;
  }

  std::vector<detail::KeyPart> parts_;
};

// By a member of T, ascending.
template <class T, class M>
order<T> by(M T::*member) {
  return order<T>(detail::key_part<M>(detail::offset_of(member)));
}

// By a member of T, descending.
template <class T, class M>
order<T> desc(M T::*member) {
  auto part = detail::key_part<M>(detail::offset_of(member));
  part.descending = true;
  return order<T>(part);
}

}  // namespace xxl
