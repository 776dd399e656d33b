// Which files are meant: names, directories of parts, patterns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "columns/files/module_table.h"

namespace xxl {

// The files that `names` stand for, in this order; "-" is standard input. A directory stands for
// all files in and below it that have an ending of `format`, in the order of their names; a name
// with *, ? or [ that no file has, for those that fit it. Throws Error{usage} for a pattern or a
// directory without such a file.
std::vector<std::string> expand_inputs(const std::vector<std::string>& names,
                                       module_table::Format format);

}  // namespace xxl
