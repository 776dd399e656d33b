#include "record/byte_classes.h"

#include <cctype>
#include <clocale>

namespace xxl {

ByteClasses current_byte_classes() {
  ByteClasses classes;
  classes.plain_blanks = classes.plain_upper = true;
  for (int c = 0; c < 256; ++c) {
    const auto i = static_cast<std::size_t>(c);
    classes.blank[i] = std::isblank(c) != 0 || c == '\n';
    classes.not_dictionary[i] = std::isalnum(c) == 0 && !classes.blank[i];
    classes.not_printing[i] = std::isprint(c) == 0;
    classes.upper[i] = static_cast<unsigned char>(std::toupper(c));
    const bool lower = c >= 'a' && c <= 'z';
    if (classes.blank[i] != (c == ' ' || c == '\t' || c == '\n')) classes.plain_blanks = false;
    if (classes.upper[i] != (lower ? c - 32 : c)) classes.plain_upper = false;
  }
  const auto single_byte = [](const char* text, int otherwise) {
    return text[0] != '\0' && text[1] == '\0' ? static_cast<unsigned char>(text[0]) : otherwise;
  };
  const std::lconv* conventions = std::localeconv();
  classes.decimal_point = single_byte(conventions->decimal_point, '.');
  classes.real_decimal_point = single_byte(conventions->decimal_point, -1);
  classes.thousands_separator = single_byte(conventions->thousands_sep, -1);
  return classes;
}

}  // namespace xxl
