// Parts of a key as bytes, for records of any length (xxl/any_length.h).
//
//   xxl::append_key(person.born, key);              numbers
//   xxl::append_key_descending(person.name, key);   strings
//
// The appended bytes sort as the value does, whatever comes before or after them. Numbers and their
// order are those of xxl/order.h. A number needs as many bytes as it has. A string needs two more,
// and one more for each byte 0.
//
// Source: the normalized keys of IBM's DFSORT and its descendants; Graefe, "Implementing Sorting in
// Database Systems" (2006), section 2.1.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "xxl/order.h"

namespace xxl {

namespace detail {

template <class N>
auto key_bits(N value) {
  using Bits = std::conditional_t<
      sizeof(N) == 1, std::uint8_t,
      std::conditional_t<sizeof(N) == 2, std::uint16_t,
                         std::conditional_t<sizeof(N) == 4, std::uint32_t, std::uint64_t>>>;
  constexpr KeyPartKind kind = key_part<N>(0).kind;
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(N) - 1));
  auto bits = std::bit_cast<Bits>(value);
  if (kind == KeyPartKind::signed_integer) bits = static_cast<Bits>(bits ^ kSign);
  if (kind == KeyPartKind::floating) {
    bits = static_cast<Bits>(bits ^ ((bits & kSign) != 0 ? static_cast<Bits>(~Bits{0}) : kSign));
  }
  return bits;
}

template <class Bits>
void append_big_endian(Bits bits, std::string& key) {
  for (std::size_t shift = 8 * sizeof(Bits); shift > 0; shift -= 8) {
    key += static_cast<char>(bits >> (shift - 8));
  }
}

}  // namespace detail

// Numbers.
template <class N>
requires detail::is_number<N>
void append_key(N value, std::string& key) {
  detail::append_big_endian(detail::key_bits(value), key);
}

// Numbers, descending.
template <class N>
requires detail::is_number<N>
void append_key_descending(N value, std::string& key) {
  auto bits = detail::key_bits(value);
  bits = static_cast<decltype(bits)>(~bits);
  detail::append_big_endian(bits, key);
}

// Strings: a byte 0 is followed by 255, the end is 0 0.
inline void append_key(std::string_view value, std::string& key) {
  for (;;) {
    const std::size_t zero = value.find('\0');
    key += value.substr(0, zero);
    key += '\0';
    if (zero == value.npos) break;
    key += '\xff';
    value.remove_prefix(zero + 1);
  }
  key += '\0';
}

// Strings, descending.
inline void append_key_descending(std::string_view value, std::string& key) {
  const std::size_t begin = key.size();
  append_key(value, key);
  for (std::size_t i = begin; i < key.size(); ++i) key[i] = static_cast<char>(~key[i]);
}

}  // namespace xxl
