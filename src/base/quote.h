// Quoting of names in messages, as sort(1) and similar programs do. (Other values:
// quoted_for_message.)
#pragma once

#include <string>
#include <string_view>

namespace xxl {

// A file's name, quoted for the shell where it needs to be: name, 'a name', 'a'$'\n''b'.
std::string quote_name(std::string_view name);
// The same, always quoted.
std::string quote_name_always(std::string_view name);
// The same, quoted only if it has control characters, which could affect a terminal or break the
// line.
std::string quote_controls(std::string_view name);

}  // namespace xxl
