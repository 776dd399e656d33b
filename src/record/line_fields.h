// The fields of a line as join(1) sees them.
//
//   "  ab c "   blanks separate:   "ab" "c" ""   (a blank at the end separates, too)
//   "a::b"      -t ':'             "a" "" "b"
//   "a b"       -t ''              "a b"         the line is one field
//
// An empty line has no fields.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "record/byte_classes.h"
#include "record/field_separator.h"

namespace xxl {

struct LineFieldSyntax {
  // The separator between two fields; a newline: the whole line is one field. None: any number of
  // blanks, and those before the first field do not count.
  std::optional<FieldSeparator> separator;

  bool is_whole_line() const { return separator == FieldSeparator('\n'); }
  // The separator between the fields of a row that is written.
  FieldSeparator output_separator() const { return separator.value_or(' '); }
};

// Calls visit(number from 0, field) for each field of `line` (without its terminator) until it
// returns false.
template <class Visit>
void visit_line_fields(std::string_view line, const LineFieldSyntax& syntax,
                       const ByteClasses::Set& blanks, Visit&& visit) {
  if (line.empty()) return;
  std::size_t number = 0;
  if (syntax.is_whole_line()) {
    visit(number, line);
    return;
  }
  if (syntax.separator) {
    for (;;) {
      const std::size_t end = syntax.separator->find_in(line);
      if (!visit(number++, line.substr(0, end)) || end == line.npos) return;
      line.remove_prefix(end + syntax.separator->size());
    }
  }
  const auto is_blank = [&](char c) { return contains(blanks, c); };
  auto at = std::find_if_not(line.begin(), line.end(), is_blank);
  if (at == line.end()) return;
  for (;;) {
    const auto end = std::find_if(at + 1, line.end(), is_blank);
    if (!visit(number++, line.substr(static_cast<std::size_t>(at - line.begin()),
                                     static_cast<std::size_t>(end - at)))) {
      return;
    }
    if (end == line.end()) return;
    at = std::find_if_not(end + 1, line.end(), is_blank);
    if (at == line.end()) {
      visit(number, line.substr(line.size()));
      return;
    }
  }
}

// All fields of one line; kept from line to line it allocates nothing once it has seen the longest.
class LineFields {
 public:
  LineFields(const LineFieldSyntax& syntax, const ByteClasses& classes)
      : syntax_(syntax), blanks_(classes.blank) {}

  // `line` must outlive the use of the fields.
  void parse(std::string_view line) {
    fields_.clear();
    visit_line_fields(line, syntax_, blanks_, [this](std::size_t, std::string_view field) {
      fields_.push_back(field);
      return true;
    });
  }
  void clear() { fields_.clear(); }

  std::size_t size() const { return fields_.size(); }
  // Empty if there are fewer.
  std::string_view operator[](std::size_t number) const {
    return number < fields_.size() ? fields_[number] : std::string_view();
  }

 private:
  LineFieldSyntax syntax_;
  ByteClasses::Set blanks_;
  std::vector<std::string_view> fields_;
};

}  // namespace xxl
