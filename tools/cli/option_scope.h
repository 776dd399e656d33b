// Which records an option is for.
#pragma once

#include "cli/parse_options.h"
#include "job/files/text_kind.h"

namespace xxl::cli {

// Whether it is a key given as +POS1 [-POS2].
bool is_obsolescent_key(const Argument& argument);

// The names of a scope.
struct ScopeText {
  Scope scope;
  std::string_view in_message;
  std::string_view in_manual;
};
const ScopeText& text_of(Scope scope);
Scope scope_of(TextKind kind);
// The records of a --format without its size; binary ones have many names.
Scope records_of_format(std::string_view format);
// What the manual says of the option after its help: for which records it is, details, and its
// other names. Empty: nothing.
std::string details_of(const OptionSpec& option);

// Whether it is for fields of CSV and TSV, which JSON lines have not.
bool is_of_fields(const OptionSpec& option);

// Throws Error{usage} when an option was given that is not for records of `scope`.
void refuse_options_of_others(const ParsedOptions& options, Scope scope);

}  // namespace xxl::cli
