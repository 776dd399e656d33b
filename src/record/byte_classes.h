// What a locale says about single bytes, read once: sort(1) classifies and folds byte by byte, also
// in locales of several bytes a character.
#pragma once

#include <array>
#include <cstddef>

namespace xxl {

struct ByteClasses {
  using Set = std::array<bool, 256>;

  Set blank{};           // separates fields: isblank, and a newline
  Set not_dictionary{};  // dropped by option d
  Set not_printing{};    // dropped by option i
  std::array<unsigned char, 256> upper{};
  int decimal_point = '.';       // of -n: '.' if the locale's has several bytes
  int real_decimal_point = '.';  // of -g, which strtold reads: -1 if it has several bytes
  int thousands_separator = -1;  // -1: none, or none of one byte
  bool plain_blanks = false;     // blank is space, tab and newline
  bool plain_upper = false;      // upper changes a to z only
};

// Of the locale of the process (setlocale) at this time.
ByteClasses current_byte_classes();

inline bool contains(const ByteClasses::Set& set, char c) {
  return set[static_cast<unsigned char>(c)];
}

}  // namespace xxl
