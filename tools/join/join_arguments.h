// The command line of join(1): what its options mean, in the order in which they are given, with
// its messages. xxl join has the same, and options of its own.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/parse_options.h"
#include "join/join_kind.h"
#include "join/line_rows.h"
#include "join/plain_join.h"

namespace xxl::cli {

struct JoinArguments {
  enum class Ask { join, help, version };

  explicit JoinArguments(const CommandSpec& command) : options(command, {}, {}) {}

  Ask ask = Ask::join;             // help and version: nothing else is there
  std::vector<std::string> files;  // two; "-" is standard input
  JoinShape shape{.pairs = true};  // as -a and -v say
  std::array<std::optional<std::size_t>, kJoinSides> fields;  // -1, -2, -j; from 0
  LineFieldSyntax syntax;
  bool ignore_case = false;
  OrderWatch watch = OrderWatch::if_unpaired;
  std::vector<RowField> row;  // -o; empty: not given
  bool auto_row = false;      // -o auto
  std::optional<std::string> filler;
  char terminator = '\n';
  ParsedOptions options;  // all of them, for those that join(1) does not have
};

// Throws CommandLineError.
JoinArguments parse_join_arguments(const CommandSpec& command, const Caller& caller,
                                   std::span<const std::string> arguments);

}  // namespace xxl::cli
