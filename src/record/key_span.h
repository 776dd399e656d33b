// Where a key of sort(1) lies in a line.
#pragma once

#include <optional>
#include <string_view>

#include "record/byte_classes.h"
#include "record/field_separator.h"
#include "record/line_order.h"

namespace xxl {

// The bytes of `line` (without its terminator) that `field` selects, before option d or i drops any
// of them; empty if the key ends before it starts, and then it lies where it would start.
//
// With a separator, fields are what lies between two of them. Without, a field is its leading
// blanks and the non-blanks after them:
//
//   "  ab c"    fields "  ab" and " c";   -k2,2 is " c", -k2b,2 is "c", -k1.2,1.3 is " a"
std::string_view key_span(std::string_view line, const LineKeyField& field,
                          const std::optional<FieldSeparator>& separator,
                          const ByteClasses& classes);

}  // namespace xxl
