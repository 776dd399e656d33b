// How the fields of a row are told apart.
#pragma once

namespace xxl {

struct FieldSyntax {
  // A separator alone says it: with quotes.
  constexpr FieldSyntax(char the_separator = ',', bool has_quotes = true)
      : separator(the_separator), quotes(has_quotes) {}

  char separator;
  bool quotes;        // a field may be in quotes; otherwise they are bytes like any other
  bool json = false;  // rows are lines of JSON instead, and columns are members of their objects
  bool operator==(const FieldSyntax&) const = default;
};

}  // namespace xxl
