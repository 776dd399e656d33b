// Quoting of names in messages, as sort(1) and its kin do. (Other values: quoted_for_message.)
#pragma once

#include <string>
#include <string_view>

namespace xxl::cli {

// A file's name, quoted for the shell where it needs to be: name, 'a name', 'a'$'\n''b'.
std::string quote_name(std::string_view name);
// The same, always quoted.
std::string quote_name_always(std::string_view name);

}  // namespace xxl::cli
