// What --count and --sum make of records with equal keys.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "record/group_fold.h"

namespace xxl {

// The first line, after the number of lines, as uniq -c writes it.
std::unique_ptr<GroupFold> make_line_counter();

struct RowFoldOptions {
  char separator = ',';
  bool count = false;              // append the number of rows as one more field
  std::optional<std::size_t> sum;  // the column (from 0) whose field becomes the sum over all rows
};

// The first row, with these changes.
std::unique_ptr<GroupFold> make_row_fold(const RowFoldOptions& options);

}  // namespace xxl
