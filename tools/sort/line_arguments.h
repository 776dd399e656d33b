// The command line of sort(1): what its options mean for lines of text, in the order in which they
// are given, with its messages.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/parse_options.h"
#include "record/line_order.h"

namespace xxl::cli {

struct LineArguments {
  explicit LineArguments(ParsedOptions parsed) : options(std::move(parsed)) {}

  ParsedOptions options;
  LineOrder order;                            // without random_salt
  std::vector<std::size_t> obsolescent_keys;  // places in order.fields of those given as +1 -2
  char terminator = '\n';
  char check = 0;  // 'c' or 'C'
  bool debug = false;
  std::vector<std::string> files;  // "-" is standard input; at least one
  std::optional<std::string> output;
  std::optional<std::uint64_t> memory_bytes;
  unsigned batch_size = 0;    // 0: not given
  unsigned threads = 0;       // 0: not given
  std::string random_source;  // empty: none
};

// A whole number and what stands behind it, as sort(1) and join(1) read them: white space and a
// plus sign may precede it.
struct Number {
  enum class Validity { ok, invalid, too_large };
  Validity validity = Validity::invalid;
  std::uint64_t value = 0;  // the largest there is, if it is too large
  std::string_view suffix;
};
Number read_number(std::string_view text);

// What sort(1) has beside getopt_long(3): +POS1 [-POS2] is a key (an option "key" whose first token
// starts with a plus sign); with POSIXLY_CORRECT, what follows a file is a file, but for -o, which
// could stand there before POSIX.
Grammar sort_grammar();

// Throws CommandLineError. Options that ask for help or the version are the last, and all that is
// set.
LineArguments parse_line_arguments(const Caller& caller, ParsedOptions options);

}  // namespace xxl::cli
