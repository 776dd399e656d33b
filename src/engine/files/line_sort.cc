#include "engine/files/line_sort.h"

#include <algorithm>
#include <memory>
#include <string>

#include "base/error.h"
#include "record/line_keys.h"

namespace xxl {

void set_parts_of_lines(LineOrder& order, TextSortOptions& sort) {
  const std::string& field = sort.part_by;
  if (field.empty()) return;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!std::all_of(field.begin(), field.end(), is_digit)) {
    throw Error(ErrorCode::usage, "--part-by of lines is the number of a field, as in --part-by=2");
  }
  order.fields.insert(order.fields.begin(), parse_line_key(field + "," + field));
  LineOrder of_parts = order;
  of_parts.fields.resize(1);
  of_parts.stable = true;  // without the last resort
  sort.keys_of_parts = [keys = std::shared_ptr<const KeyExtractor>(make_line_keys(of_parts))] {
    return keys;
  };
}

}  // namespace xxl
