// The command line of join(1): what its options mean, in the order in which they are given, with
// its messages. xxl join has the same, and options of its own.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/parse_options.h"
#include "job/files/line_join.h"
#include "join/join_kind.h"
#include "join/plain_join.h"

namespace xxl::cli {

struct JoinArguments {
  explicit JoinArguments(ParsedOptions parsed) : options(std::move(parsed)) {}

  ParsedOptions options;

  std::vector<std::string> files;                             // two; "-" is standard input
  JoinShape shape{.pairs = true};                             // as -a and -v say
  std::array<std::optional<std::string>, kJoinSides> fields;  // -1, -2, -j; called as join: numbers
  LineJoin lines;                                             // -t, -i, -e and the list of fields
  OrderWatch watch = OrderWatch::if_unpaired;
  char terminator = '\n';
};

// Throws CommandLineError. Options that ask for help or the version are the last, and all that is
// set.
JoinArguments parse_join_arguments(const CommandSpec& command, const Caller& caller,
                                   std::span<const std::string> arguments);

}  // namespace xxl::cli
