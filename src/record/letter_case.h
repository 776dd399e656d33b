// Letters of Latin, Greek and Cyrillic in lower case, for comparisons that ignore case: the same in
// every locale. Bytes that are not UTF-8 stay as they are.
#pragma once

#include <string>
#include <string_view>

namespace xxl {

// Whether `byte` is the first of a character of two bytes, which append_lower_case() must get both.
constexpr bool starts_pair(char byte) {
  const auto code = static_cast<unsigned char>(byte);
  return code >= 0xc2 && code <= 0xdf;
}

// Appends as many bytes as `text` has.
void append_lower_case(std::string_view text, std::string& out);

}  // namespace xxl
