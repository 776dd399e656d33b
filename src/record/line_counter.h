// What --count makes of lines with equal keys.
#pragma once

#include <memory>

#include "record/group_fold.h"

namespace xxl {

// The first line, after the number of lines, as uniq -c writes it: in a field of 7 characters, and
// a blank.
std::unique_ptr<GroupFold> make_line_counter();

}  // namespace xxl
