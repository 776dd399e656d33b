#pragma once

#include <string>

namespace xxl {

// Whether the names are of one file, or would be if it existed.
bool is_same_file(const std::string& a, const std::string& b);

}  // namespace xxl
