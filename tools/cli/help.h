// The help that the program prints.
#pragma once

#include <string>

#include "cli/options_table.h"

namespace xxl::cli {

// One screen on the program, and on a command: examples, and the options of every day.
std::string short_help();
std::string short_help(const CommandSpec& command);

// All options of a command, and its topics, or all that it has on them. `called_as`: "xxl sort", or
// the name of a link, which has no topics.
std::string long_help(const CommandSpec& command, std::string_view called_as,
                      bool with_topics = false);

// What a command has on a topic: a name of HelpTopic, "all", or an option. Throws Error{usage} if
// there is nothing.
std::string topic_help(const CommandSpec& command, std::string_view topic);

}  // namespace xxl::cli
