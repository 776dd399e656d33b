// Quoting of names in messages, as sort(1) and its kin do. (Other values: quoted_for_message.)
#pragma once

#include <string>
#include <string_view>

namespace xxl {

// A file's name, quoted for the shell where it needs to be: name, 'a name', 'a'$'\n''b'.
std::string quote_name(std::string_view name);
// The same, always quoted.
std::string quote_name_always(std::string_view name);
// The same, quoted only if there are control characters in it, which would do something to a
// terminal, or make two lines of one.
std::string quote_controls(std::string_view name);

}  // namespace xxl
