// Parsing of a command line with the options table, in the manner of sort(1): short options may be
// bundled, long ones abbreviated, options may follow operands (unless POSIXLY_CORRECT is set), "-"
// is an operand, "--" ends options.
#pragma once

#include <cstdint>
#include <map>
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
};

// "Try 'sort --help' for more information.", as a line of its own behind a message.
std::string hint_line(const Caller& caller);

struct GivenOption {
  const OptionSpec* spec = nullptr;  // nullptr: an operand
  std::string value;                 // of the option, or the operand
  bool by_long_name = false;
  bool value_is_next_argument = false;  // -k 1, not -k1
  bool starts_argument = false;         // -k1, not -nk1 (of short options)

  // The name as it was given: "-S", "--buffer-size".
  std::string name() const;
};

// Takes a command line apart, one option or operand after the other, in the order in which they
// stand: what comes first is complained about first.
class OptionScanner {
 public:
  // What the arguments refer to must outlive the scanner.
  OptionScanner(const CommandSpec& command, const Caller& caller,
                std::span<const std::string> arguments)
      : command_(command), caller_(caller), arguments_(arguments) {}

  // The next option or operand; nothing at the end. Throws CommandLineError.
  std::optional<GivenOption> next();

  // The arguments that have not been looked at; empty in the middle of a bundle of short options.
  std::span<const std::string> rest() const;
  // Leaves out the next `count` arguments.
  void skip(std::size_t count) { position_ += count; }
  // Gives back the argument that was the value of the last option.
  void give_back() { --position_; }
  // Everything that follows is an operand.
  void end_options() { options_ended_ = true; }
  // True behind "--": all that next() gives is operands.
  bool options_ended() const { return options_ended_; }

 private:
  GivenOption scan_long(const std::string& argument);
  GivenOption scan_short();
  const OptionSpec& find_long(std::string_view name, const std::string& argument) const;
  [[noreturn]] void fail(const std::string& message) const;

  const CommandSpec& command_;
  const Caller& caller_;
  std::span<const std::string> arguments_;
  std::size_t position_ = 0;       // of the next argument
  std::size_t bundle_offset_ = 0;  // in arguments_[position_], of the next short option; 0: none
  bool options_ended_ = false;
};

// A whole command line, when the order of options does not matter.
class ParsedOptions {
 public:
  ParsedOptions(const CommandSpec& command, std::vector<std::string> operands,
                std::map<std::string, std::vector<std::string>> values);

  const CommandSpec& command() const { return *command_; }
  // What is not an option, in order.
  const std::vector<std::string>& operands() const { return operands_; }

  // Options are named by OptionSpec::key(). That the command has them is required, but of:
  bool knows(std::string_view key) const;
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
  const OptionSpec& spec(std::string_view key) const;

  const CommandSpec* command_;
  std::vector<std::string> operands_;
  std::map<std::string, std::vector<std::string>> values_;
};

// Throws CommandLineError.
ParsedOptions parse_options(const CommandSpec& command, const Caller& caller,
                            std::span<const std::string> arguments);

// Throws Error{usage} with a hint where to read on.
[[noreturn]] void throw_usage(const CommandSpec& command, const std::string& message);

}  // namespace xxl::cli
