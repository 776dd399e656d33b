// The names of the files that a command reads.
#pragma once

#include <string>
#include <vector>

#include "cli/parse_options.h"

namespace xxl::cli {

// The files to sort: operands, those of --files0-from, or standard input.
std::vector<std::string> input_files(const ParsedOptions& options);
// The names in `file` ("-": standard input), each ended by a zero byte. `as_sort`: names that
// cannot be ones are left to who opens them. Throws CommandLineError.
std::vector<std::string> read_names0(const std::string& file, bool as_sort);

}  // namespace xxl::cli
