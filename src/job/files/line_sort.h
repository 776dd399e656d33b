// What sorts of lines have beside their order.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "job/general_sort/general_sort_options.h"
#include "record/line_fields.h"
#include "record/line_order.h"

namespace xxl {

// If `sort` has parts by a field (part_by, a number from 1), makes that the first key of `order`,
// and the key of parts. Of a sort that folds, after its `fold`. Throws Error{usage}.
void set_parts_of_lines(LineOrder& order, GeneralSortOptions& sort);

// The directories of parts by the field `field`, from 0, which is called `name`.
std::function<std::string(std::string_view line)> directory_of_line(const std::string& name,
                                                                    const LineFieldSyntax& syntax,
                                                                    std::size_t field);

}  // namespace xxl
