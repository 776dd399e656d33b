// The groups of options, in the order of help, and what `xxl help COMMAND TOPIC` prints of a
// command.
#pragma once

#include <span>
#include <string_view>

#include "cli/option_spec.h"

namespace xxl::cli {

// A group of options, or what is particular to one kind of records.
struct HelpTopic {
  std::string_view names;  // separated by blanks; the first one is listed
  std::string_view title;  // of a group: OptionSpec::group
  std::string_view intro;
  Scope records = Scope::all;  // all: it is a group
};

std::span<const HelpTopic> help_topics();

// Whether help on the topic shows this option of a command, or this section.
bool is_in(const HelpTopic& topic, const OptionSpec& option);
bool is_in(const HelpTopic& topic, const Section& section);

// The place of a group in help; groups without a topic come first.
std::size_t rank_of_group(std::string_view title);

}  // namespace xxl::cli
