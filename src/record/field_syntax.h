// How the fields of a row are told apart.
#pragma once

#include "record/field_separator.h"

namespace xxl {

struct FieldSyntax {
  // A separator alone says it: with quotes.
  constexpr FieldSyntax(char the_separator = ',', bool has_quotes = true)
      : separator(the_separator), quotes(has_quotes) {}

  FieldSeparator separator;
  bool quotes;  // a field may be in quotes; otherwise they are bytes like any other
  // The byte behind one is part of the field, whatever it is; n, t, r and 0 stand for a line feed,
  // tab, carriage return and zero byte. '\0': there is none.
  char escape = '\0';
  FieldSeparator comment{std::string_view()};  // lines before the header that begin so are comments
  bool json = false;  // rows are lines of JSON instead, and columns are members of their objects
  bool operator==(const FieldSyntax&) const = default;

  // A byte separates fields, and nothing but quotes makes it a part of one.
  constexpr bool is_plain() const { return separator.is_byte() && escape == '\0'; }
};

}  // namespace xxl
