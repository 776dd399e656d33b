// The one table of commands and options. Everything that knows an option is made from it: the
// parser (parse_options.h), the help text and manual pages (manual.h), and the completions of
// bash, zsh and fish (completions.h).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "cli/option_spec.h"

namespace xxl::cli {

// The command sort, the largest of them (options_of_sort.cc).
CommandSpec sort_command();

// The command join (options_of_join.cc), and the same called as join(1): with only that program's
// options.
CommandSpec join_command();
CommandSpec stand_in_join_command();

// The command group (options_of_group.cc).
CommandSpec group_command();
// The command shuf (options_of_shuf.cc).
CommandSpec shuf_command();
// The commands that are a sort with some options set (options_of_sorts.cc).
std::vector<CommandSpec> sort_like_commands();

// Other names for options: --csv is --format=csv, --memory is --buffer-size.
std::span<const OtherName> other_names();
// The option of the command that has this other name, or nullptr.
const OptionSpec* option_of(const CommandSpec& command, const OtherName& other);
// Whether it takes the value that the other name gives.
bool accepts(const OptionSpec& option, const OtherName& other);
// Whether `word` is one of `words`, which are separated by blanks.
bool has_word(std::string_view words, std::string_view word);

// All commands, in the order of the help text.
std::span<const CommandSpec> commands();

// The option of `command` with this OptionSpec::key(), which must exist, for another command: it is
// not marked as one of sort(1).
OptionSpec option_of(const CommandSpec& command, std::string_view key);
// The option of xxl sort with this key, for other records.
OptionSpec as_sort(std::string_view key, Scope scope = Scope::all);
// The option as a command has it that works on these records only: formats are only theirs.
OptionSpec for_records(OptionSpec option, Scope records);
// The option with other details.
OptionSpec with_details(OptionSpec option, std::string_view details);

// The command called `name`, or nullptr.
const CommandSpec* find_command(std::string_view name);

}  // namespace xxl::cli
