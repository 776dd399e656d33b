// Decimal digits, in any locale.
#pragma once

namespace xxl {

constexpr bool is_digit(char c) {
  return static_cast<unsigned char>(c - '0') < 10;
}

}  // namespace xxl
