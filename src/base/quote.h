// Quoting of names in messages, as sort(1) and similar programs do. (Other values:
// quoted_for_message.)
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace xxl {

// Bytes of the character of UTF-8 that `text` starts with; 0 if it starts with none.
std::size_t utf8_bytes(std::string_view text);

// A file's name, quoted for the shell where it needs to be: name, 'a name', 'a'$'\n''b'.
std::string quote_name(std::string_view name);
// The same, always quoted.
std::string quote_name_always(std::string_view name);
// The same, quoted only if it has what escape_controls() would escape.
std::string quote_controls(std::string_view name);

// `text` with "\033" or "\344" for what could affect a terminal or break the line: control
// characters, except those in `kept`, and bytes that are no character, neither of the locale nor of
// UTF-8.
std::string escape_controls(std::string_view text, std::string_view kept = {});

}  // namespace xxl
