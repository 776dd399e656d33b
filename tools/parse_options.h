// Parsing of a command line with the options table, in the manner of sort(1): short options may be
// bundled, long ones abbreviated, options may follow operands, "-" is an operand, "--" ends
// options.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "options_table.h"

namespace xxl::cli {

class ParsedOptions {
 public:
  ParsedOptions(const CommandSpec& command, std::vector<std::string> operands,
                std::map<std::string, std::vector<std::string>> values);

  const CommandSpec& command() const { return *command_; }
  // What is not an option, in order.
  const std::vector<std::string>& operands() const { return operands_; }

  // Options are named by OptionSpec::key().
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

// Throws Error{usage}.
ParsedOptions parse_options(const CommandSpec& command, const std::vector<std::string>& arguments);

// Throws Error{usage} with a hint where to read on.
[[noreturn]] void throw_usage(const CommandSpec& command, const std::string& message);

}  // namespace xxl::cli
