#include "cli/parse_options.h"

#include <cstdlib>
#include <sstream>
#include <utility>

#include "base/units.h"

namespace xxl::cli {
namespace {

// The option whose long name is `name` or, if `abbreviated`, starts with it, among those of sort(1)
// (`standard`) or among all others. More than one: `others` gets their names.
const OptionSpec* find_by_prefix(const CommandSpec& command, std::string_view name, bool standard,
                                 std::vector<std::string_view>& matches) {
  const OptionSpec* found = nullptr;
  for (const OptionSpec& option : command.options) {
    if (option.standard != standard || !option.long_name.starts_with(name)) continue;
    found = &option;
    matches.push_back(option.long_name);
  }
  return found;
}

}  // namespace

std::string hint_line(const Caller& caller) {
  return "\nTry '" + caller.command + " --help' for more information.";
}

void throw_usage(const CommandSpec& command, const std::string& message) {
  throw Error(ErrorCode::usage, message + " (try 'xxl " + std::string(command.name) + " --help')");
}

std::string GivenOption::name() const {
  if (by_long_name) return "--" + std::string(spec->long_name);
  return std::string("-") + spec->short_name;
}

void OptionScanner::fail(const std::string& message) const {
  throw CommandLineError(message + hint_line(caller_), caller_.error_status);
}

std::span<const std::string> OptionScanner::rest() const {
  if (bundle_offset_ != 0) return {};
  return arguments_.subspan(position_);
}

std::optional<GivenOption> OptionScanner::next() {
  if (bundle_offset_ != 0) return scan_short();
  if (position_ == arguments_.size()) return std::nullopt;
  const std::string& argument = arguments_[position_];
  if (!options_ended_ && argument == "--") {
    ++position_;
    options_ended_ = true;
    return next();
  }
  if (options_ended_ || argument.size() < 2 || argument[0] != '-') {
    ++position_;
    return GivenOption{.value = argument};
  }
  if (argument[1] == '-') return scan_long(argument);
  bundle_offset_ = 1;
  return scan_short();
}

// An exact name is that option; an abbreviation is one of sort(1)'s rather than one of ours, so
// that what works there works here.
const OptionSpec& OptionScanner::find_long(std::string_view name,
                                           const std::string& argument) const {
  for (const OptionSpec& option : command_.options) {
    if (option.long_name == name && !name.empty()) return option;
  }
  for (const bool standard : {true, false}) {
    std::vector<std::string_view> matches;
    const OptionSpec* found = find_by_prefix(command_, name, standard, matches);
    if (matches.size() == 1) return *found;
    if (matches.empty()) continue;
    std::string message = "option '" + argument + "' is ambiguous; possibilities:";
    for (const std::string_view match : matches) message.append(" '--").append(match).append("'");
    fail(message);
  }
  fail("unrecognized option '" + argument + "'");
}

GivenOption OptionScanner::scan_long(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  const bool has_value = equals != std::string::npos;
  const std::string_view name =
      std::string_view(argument).substr(2, has_value ? equals - 2 : equals);
  const OptionSpec& option = find_long(name, argument);
  const std::string shown = "option '--" + std::string(option.long_name) + "'";
  ++position_;
  GivenOption given{.spec = &option, .value = std::string(option.implied), .by_long_name = true};
  if (has_value) {
    if (option.value == ValueKind::none) fail(shown + " doesn't allow an argument");
    given.value = argument.substr(equals + 1);
  } else if (option.value == ValueKind::required) {
    if (position_ == arguments_.size()) fail(shown + " requires an argument");
    given.value = arguments_[position_++];
    given.value_is_next_argument = true;
  }
  return given;
}

GivenOption OptionScanner::scan_short() {
  const std::string& bundle = arguments_[position_];
  const char letter = bundle[bundle_offset_++];
  const bool starts_argument = bundle_offset_ == 2;
  const bool is_last = bundle_offset_ == bundle.size();
  const OptionSpec* option = nullptr;
  for (const OptionSpec& candidate : command_.options) {
    if (candidate.short_name == letter && letter != '-') option = &candidate;
  }
  if (option == nullptr) fail(std::string("invalid option -- '") + letter + "'");
  GivenOption given{
      .spec = option, .value = std::string(option->implied), .starts_argument = starts_argument};
  if (option->value == ValueKind::required) {
    if (!is_last) {
      given.value = bundle.substr(bundle_offset_);
    } else {
      if (position_ + 1 == arguments_.size()) {
        fail(std::string("option requires an argument -- '") + letter + "'");
      }
      given.value = arguments_[++position_];
      given.value_is_next_argument = true;
    }
  }
  if (is_last || option->value == ValueKind::required) {
    ++position_;
    bundle_offset_ = 0;
  }
  return given;
}

ParsedOptions::ParsedOptions(const CommandSpec& command, std::vector<std::string> operands,
                             std::map<std::string, std::vector<std::string>> values)
    : command_(&command), operands_(std::move(operands)), values_(std::move(values)) {}

const OptionSpec& ParsedOptions::spec(std::string_view key) const {
  for (const OptionSpec& option : command_->options) {
    if (option.key() == key) return option;
  }
  check_failed("the option is in the table", __FILE__, __LINE__);
}

bool ParsedOptions::knows(std::string_view key) const {
  for (const OptionSpec& option : command_->options) {
    if (option.key() == key) return true;
  }
  return false;
}

bool ParsedOptions::has(std::string_view key) const {
  return values_.contains(spec(key).key());
}

std::vector<std::string> ParsedOptions::values(std::string_view key) const {
  const auto found = values_.find(spec(key).key());
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

std::string ParsedOptions::value(std::string_view key, std::string_view fallback) const {
  return has(key) ? values(key).back() : std::string(fallback);
}

std::uint64_t ParsedOptions::number(std::string_view key, std::uint64_t fallback, std::uint64_t low,
                                    std::uint64_t high) const {
  return has(key) ? parse_number(values(key).back(), "--" + std::string(key), low, high) : fallback;
}

std::string ParsedOptions::word(std::string_view key, std::string_view fallback) const {
  std::string given = value(key, fallback);
  std::istringstream words{std::string(spec(key).words)};
  for (std::string word; words >> word;) {
    if (word == given) return given;
  }
  throw_usage(*command_, "invalid argument '" + given + "' for '--" + std::string(key) +
                             "': use one of " + std::string(spec(key).words));
}

ParsedOptions parse_options(const CommandSpec& command, const Caller& caller,
                            std::span<const std::string> arguments) {
  std::vector<std::string> operands;
  std::map<std::string, std::vector<std::string>> values;
  OptionScanner scanner(command, caller, arguments);
  const bool options_come_first = std::getenv("POSIXLY_CORRECT") != nullptr;
  while (const std::optional<GivenOption> given = scanner.next()) {
    if (given->spec != nullptr) {
      values[given->spec->key()].push_back(given->value);
    } else {
      operands.push_back(given->value);
      if (options_come_first) scanner.end_options();
    }
  }
  return ParsedOptions(command, std::move(operands), std::move(values));
}

}  // namespace xxl::cli
