// Help text and manual pages, made from the options table.
#pragma once

#include <string>

#include "options_table.h"

namespace xxl::cli {

// xxl COMMAND --help.
std::string help_text(const CommandSpec& command);
// xxl --help.
std::string help_text();

// Manual pages in roff's man macros: xxl-COMMAND(1) and xxl(1).
std::string manual_page(const CommandSpec& command);
std::string manual_page();

}  // namespace xxl::cli
