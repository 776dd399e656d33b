// Options of the program, drawn from its own table: one that is new there is drawn here as well, as
// soon as a value for it can be made.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/option_spec.h"
#include "job.h"
#include "random.h"

namespace xxl::campaign {

// The commands of which jobs are made.
inline constexpr std::string_view kCommands[] = {"sort", "join", "shuf", "union"};

enum class Drawn {
  from_table,  // with any value of those that can be made
  with_job,    // where the job that fits it is made (draw.cc)
  never,       // makes no sense here
};

Drawn how_drawn(const cli::OptionSpec& option);

// Whether it says what a job may use, on which its output does not depend.
bool is_of_resources(const cli::OptionSpec& option);

// "--key=2" or "-j2".
std::string argument(const cli::OptionSpec& option, std::string_view value);
// "--key" or "-j".
std::string name_of(const cli::OptionSpec& option);

// The option with a value that fits the job; nothing if none can be made.
std::optional<std::string> draw_argument(const cli::OptionSpec& option, const Job& job,
                                         Random& random);

// Whether it is for records of this kind.
bool is_for(const cli::OptionSpec& option, Kind kind);

// A key as the command wants it: --key=VALUE.
std::string draw_key(const Job& job, Random& random);

}  // namespace xxl::campaign
