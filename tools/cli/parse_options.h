// Parsing of a command line with the options table, by Boost.Program_options, in the manner of
// sort(1): short options may be bundled, long ones abbreviated, options may follow operands (unless
// POSIXLY_CORRECT is set), "-" is an operand, "--" ends options. The messages are those of
// getopt_long(3).
#pragma once

#include <boost/program_options/option.hpp>
#include <boost/program_options/variables_map.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/options_table.h"

namespace xxl::cli {

// A mistake in the command line: what() is printed behind the name of the program, and `status` is
// the exit status. The message may have several lines.
class CommandLineError : public Error {
 public:
  explicit CommandLineError(const std::string& message, int status = 2)
      : Error(ErrorCode::usage, message), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

// How the program was called, for messages: "sort" or "xxl sort", and what stands before each line
// of them: "sort: " or "xxl: sort: ".
struct Caller {
  std::string command;
  std::string prefix;
  bool stands_in = false;         // for sort(1) or join(1), called by its name
  int error_status = 2;           // the exit status of errors
  bool broken_pipe_kills = true;  // as it does unless the parent process said otherwise
  std::span<const std::string> arguments = {};  // all that the program was given
};

// "Try 'sort --help' for more information.", as a line of its own behind a message.
std::string hint_line(const Caller& caller);

// An option as it was given: its `string_key` is OptionSpec::key(), its `value` one text, or none
// for an option without value; or an operand, which has a value only. `original_tokens` are the
// arguments that it was read from: "-k" "1", "-k1", a whole bundle "-nk1", or "--" and the operand
// behind it.
using Argument = boost::program_options::option;

inline bool is_operand(const Argument& argument) {
  return argument.string_key.empty();
}
Argument make_operand(const std::string& text);

// What the command line of one command has beside that of getopt_long(3). Is asked first: appends
// to `found`, which holds all that stood before, what it makes of the front of `rest`, and returns
// how many arguments that were; 0 leaves the next one to getopt_long's rules.
using Grammar =
    std::function<std::size_t(std::vector<Argument>& found, std::span<const std::string> rest)>;

// With POSIXLY_CORRECT, all that follows an operand is operands.
std::size_t options_come_first(std::vector<Argument>& found, std::span<const std::string> rest);

// A command line taken apart by Boost.Program_options: as it stood, and by the names of options.
class ParsedOptions {
 public:
  // Ends at the first mistake, and behind --help or --version, as nothing that follows is looked
  // at.
  ParsedOptions(const CommandSpec& command, const Caller& caller,
                std::span<const std::string> arguments,
                const Grammar& grammar = options_come_first);

  // Throws the mistake, if there was one: what stands before it may be complained about first.
  void throw_mistake() const;
  bool has_mistake() const { return mistake_.has_value(); }

  const CommandSpec& command() const { return *command_; }
  // Options and operands in order.
  const std::vector<Argument>& arguments() const { return arguments_; }
  // What is not an option, in order.
  const std::vector<std::string>& operands() const { return operands_; }
  // Whether the last of them is --help or --version.
  bool asks_for_text() const;

  // Gives the option a value, or none if it is empty, in place of those given.
  void set(std::string_view key, const std::string& value);

  // Options are named by OptionSpec::key(). An option that the command does not have was not given.
  bool knows(std::string_view key) const;
  const OptionSpec& spec(std::string_view key) const;
  bool has(std::string_view key) const;
  // All values given, in order.
  std::vector<std::string> values(std::string_view key) const;
  // The value given last, or `fallback`.
  std::string value(std::string_view key, std::string_view fallback) const;
  // The value given last, as a number in [low, high], or `fallback`. Throws Error{usage}.
  std::uint64_t number(std::string_view key, std::uint64_t fallback, std::uint64_t low,
                       std::uint64_t high) const;
  // The value given last, which must be one of the option's words, or `fallback`. Throws
  // Error{usage}.
  std::string word(std::string_view key, std::string_view fallback) const;

 private:
  const OptionSpec* find(std::string_view key) const;

  const CommandSpec* command_;
  std::vector<Argument> arguments_;
  std::vector<std::string> operands_;
  boost::program_options::variables_map values_;
  std::optional<CommandLineError> mistake_;
};

// Throws Error{usage} with a hint where to read on.
[[noreturn]] void throw_usage(const CommandSpec& command, const std::string& message);

}  // namespace xxl::cli
