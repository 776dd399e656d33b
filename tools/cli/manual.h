// Manual pages, made from the options table.
#pragma once

#include <string>
#include <string_view>

#include "cli/options_table.h"
#include "cli/parse_options.h"

namespace xxl::cli {

// xxl --version, sort --version.
std::string version_text(const Caller& caller);

// Prints what --help or --version asks for, if one of them is given.
bool print_if_asked(const ParsedOptions& options, const Caller& caller);

// Manual pages in roff's man macros: xxl-COMMAND(1) and xxl(1).
std::string manual_page(const CommandSpec& command);
std::string manual_page();

}  // namespace xxl::cli
