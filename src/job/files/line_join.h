// A join of lines, as a general join.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/join/general_join_options.h"
#include "join/line_rows.h"
#include "record/line_fields.h"

namespace xxl {

struct LineJoin {
  LineFieldSyntax syntax;
  std::array<std::vector<std::size_t>, kJoinSides> key_fields;  // from 0; as many on both sides
  std::vector<RowField> row;  // none: the key, then the other fields of the left and of the right
  bool auto_row = false;      // instead: as many fields of each side as its first line has
  std::optional<std::string> filler;
  bool ignore_case = false;
  bool empty_keys_match = true;  // otherwise like NULL in SQL
  bool records_of_r = false;     // rows are lines of R as they are (semi and anti joins)
};

// Completes `join`, of which the inputs and the shape are set. Throws Error{usage}.
void set_lines(const LineJoin& lines, GeneralJoinOptions& join);

// Keys that are separated by commas; a comma in quotes belongs to a name.
std::vector<std::string> split_keys(const std::vector<std::string>& lists);
// The number of a field, from 1, as an index. Throws Error{usage}.
std::size_t parse_line_field(std::string_view text);

// Rows that are records of R as they are.
void set_records_of_r(GeneralJoinOptions& join);

// Throws Error{usage} unless both sides have as many keys.
void check_numbers_of_keys(std::size_t left, std::size_t right);

}  // namespace xxl
