// Decimal digits, and letters of ASCII, in any locale.
#pragma once

namespace xxl {

constexpr bool is_digit(char c) {
  return static_cast<unsigned char>(c - '0') < 10;
}

constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace xxl
