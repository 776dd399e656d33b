// Completions for bash, zsh and fish, made from the options table.
#pragma once

#include <string>
#include <string_view>

namespace xxl::cli {

// The script for `shell`: bash, zsh or fish. Throws Error{usage} for any other.
std::string completions(std::string_view shell);

}  // namespace xxl::cli
