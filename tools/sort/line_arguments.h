// The command line of sort(1): what its options mean for lines of text, in the order in which they
// are given, with its messages.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/parse_options.h"
#include "record/line_order.h"

namespace xxl::cli {

struct LineArguments {
  enum class Ask { sort, help, version };

  explicit LineArguments(const CommandSpec& command) : options(command, {}, {}) {}

  Ask ask = Ask::sort;                        // help and version: nothing else is there
  LineOrder order;                            // without random_salt
  std::vector<std::size_t> obsolescent_keys;  // places in order.fields of those given as +1 -2
  char terminator = '\n';
  char check = 0;  // 'c' or 'C'
  bool debug = false;
  bool merge = false;
  std::vector<std::string> files;  // "-" is standard input; at least one
  std::optional<std::string> output;
  std::optional<std::uint64_t> memory_bytes;
  unsigned batch_size = 0;    // 0: not given
  unsigned parallel = 0;      // 0: not given
  std::string random_source;  // empty: none
  ParsedOptions options;      // all of them, for those that sort(1) does not have
};

// Throws CommandLineError.
LineArguments parse_line_arguments(const CommandSpec& command, const Caller& caller,
                                   std::span<const std::string> arguments);

}  // namespace xxl::cli
