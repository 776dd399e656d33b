#include "cli/parse_options.h"

#include <algorithm>
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <cstdlib>
#include <utility>

#include "base/similar.h"
#include "base/units.h"
#include "cli/options_table.h"

namespace xxl::cli {
namespace {

namespace po = boost::program_options;
using Values = std::vector<std::string>;

po::options_description describe(const CommandSpec& command) {
  po::options_description description;
  for (const OptionSpec& option : command.options) {
    std::string names(option.long_name);
    if (option.short_name != 0) names.append(1, ',').append(1, option.short_name);
    auto* const value = po::value<Values>();
    if (option.value == ValueKind::none) value->zero_tokens();
    description.add_options()(names.c_str(), value);
  }
  return description;
}

bool is_number(const std::string& text) {
  return text.find_first_not_of("0123456789") == std::string::npos;
}

// Takes the arguments of a command line apart, in order. Values are found here as well:
// Boost.Program_options would refuse one that looks like an option, and would give an option whose
// value is optional the operand that follows.
class Scanner {
 public:
  Scanner(const CommandSpec& command, const Caller& caller, std::span<const std::string> arguments)
      : command_(command), caller_(caller), rest_(arguments) {}

  // Throws CommandLineError; `found` has all that stands before the mistake.
  void scan(const Grammar& grammar, std::vector<Argument>& found);

 private:
  const std::string& next();
  void scan_operands(std::vector<Argument>& found);
  Argument scan_long();
  void scan_bundle(std::vector<Argument>& found);
  Argument take_option(const OptionSpec& option, const std::string& argument,
                       std::optional<std::string> value, const std::string& complaint);
  const OptionSpec& find_long(std::string_view name, const std::string& argument) const;
  const OtherName* find_other(std::string_view name) const;
  const OptionSpec& find_short(char letter) const;
  [[noreturn]] void fail(const std::string& message) const {
    throw CommandLineError(message + hint_line(caller_), caller_.error_status);
  }

  const CommandSpec& command_;
  const Caller& caller_;
  std::span<const std::string> rest_;
};

void Scanner::scan(const Grammar& grammar, std::vector<Argument>& found) {
  while (!rest_.empty()) {
    const std::string& argument = rest_.front();
    if (const std::size_t taken = grammar ? grammar(found, rest_) : 0; taken != 0) {
      rest_ = rest_.subspan(taken);
    } else if (argument == "--") {
      scan_operands(found);
    } else if (argument.starts_with("--")) {
      found.push_back(scan_long());
    } else if (argument.starts_with('-') && argument != "-") {
      scan_bundle(found);
    } else {
      found.push_back(make_operand(next()));
    }
  }
}

const std::string& Scanner::next() {
  const std::string& argument = rest_.front();
  rest_ = rest_.subspan(1);
  return argument;
}

// What follows "--", which is a token of the first of them.
void Scanner::scan_operands(std::vector<Argument>& found) {
  const std::size_t first = found.size();
  next();
  while (!rest_.empty()) found.push_back(make_operand(next()));
  if (first == found.size()) return;
  Values& tokens = found[first].original_tokens;
  tokens.insert(tokens.begin(), "--");
}

// An option in `argument`, with the value that was found there, or the one that follows.
Argument Scanner::take_option(const OptionSpec& option, const std::string& argument,
                              std::optional<std::string> value, const std::string& complaint) {
  Argument given(option.key(), {});
  given.original_tokens = {argument};
  if (!value && option.value == ValueKind::optional) value = option.implied;
  if (!value && option.value == ValueKind::number && !rest_.empty() && !is_number(rest_.front())) {
    value = "";
  }
  if (!value && option.value != ValueKind::none) {
    if (rest_.empty()) fail(complaint);
    value = given.original_tokens.emplace_back(next());
  }
  if (value) given.value = {*value};
  return given;
}

// True of names that other commands have.
bool is_option_elsewhere(std::string_view name) {
  return std::ranges::any_of(commands(), [&](const CommandSpec& command) {
    return std::ranges::find(command.options, name, &OptionSpec::long_name) !=
           command.options.end();
  });
}

// An exact name is that option; an abbreviation is one of sort(1)'s rather than one of ours, so
// that what works there works here; and it is not the whole name of what other commands have, so
// that --part-by is not taken for --part-bytes where there is no such option.
const OptionSpec& Scanner::find_long(std::string_view name, const std::string& argument) const {
  for (const OptionSpec& option : command_.options) {
    if (option.long_name == name && !name.empty() && !option.set_by_command) return option;
  }
  for (const bool standard : {true, false}) {
    if (!standard && is_option_elsewhere(name)) break;
    const OptionSpec* found = nullptr;
    std::string possibilities;
    std::size_t matches = 0;
    for (const OptionSpec& option : command_.options) {
      if (option.standard != standard || option.long_name.empty() || option.set_by_command)
        continue;
      if (!option.long_name.starts_with(name)) continue;
      found = &option;
      possibilities.append(" '--").append(option.long_name).append("'");
      ++matches;
    }
    if (matches == 1) return *found;
    if (matches > 1) fail("option '" + argument + "' is ambiguous; possibilities:" + possibilities);
  }
  std::vector<std::string_view> names;
  for (const OptionSpec& option : command_.options) {
    if (!option.set_by_command) names.push_back(option.long_name);
  }
  for (const OtherName& other : other_names()) {
    if (option_of(command_, other) != nullptr) names.push_back(other.name);
  }
  fail("unrecognized option '" + argument + "'" +
       (caller_.stands_in ? "" : did_you_mean(name, names, "--")));
}

// Another name for one of the command's options, or nullptr.
const OtherName* Scanner::find_other(std::string_view name) const {
  if (caller_.stands_in) return nullptr;
  for (const OtherName& other : other_names()) {
    if (other.name == name && option_of(command_, other) != nullptr) return &other;
  }
  return nullptr;
}

const OptionSpec& Scanner::find_short(char letter) const {
  for (const OptionSpec& option : command_.options) {
    if (option.short_name == letter) return option;
  }
  fail(std::string("invalid option -- '") + letter + "'");
}

Argument Scanner::scan_long() {
  const std::string& argument = next();
  const std::size_t equals = argument.find('=');
  const std::string_view name = std::string_view(argument).substr(2, equals - 2);
  const OtherName* const other = find_other(name);
  const OptionSpec& option =
      other != nullptr ? *option_of(command_, *other) : find_long(name, argument);
  const std::string shown =
      "option '--" + std::string(other != nullptr ? other->name : option.long_name) + "'";
  std::optional<std::string> value;
  const bool has_value = other != nullptr && !other->value.empty();
  if (has_value) value = other->value;
  if (equals != std::string::npos) {
    if (has_value || option.value == ValueKind::none) fail(shown + " doesn't allow an argument");
    value = argument.substr(equals + 1);
  }
  Argument given = take_option(option, argument, value, shown + " requires an argument");
  if (given.string_key == "help" || given.string_key == "version") rest_ = {};
  return given;
}

void Scanner::scan_bundle(std::vector<Argument>& found) {
  const std::string& bundle = next();
  for (std::size_t i = 1; i < bundle.size(); ++i) {
    const OptionSpec& option = find_short(bundle[i]);
    const bool takes_value = option.value != ValueKind::none;
    std::optional<std::string> value;
    if (takes_value && i + 1 < bundle.size()) value = bundle.substr(i + 1);
    found.push_back(take_option(option, bundle, value,
                                std::string("option requires an argument -- '") + bundle[i] + "'"));
    if (takes_value) return;
  }
}

}  // namespace

std::string hint_line(const Caller& caller) {
  return "\nTry '" + caller.command + " --help' for more information.";
}

void throw_usage(const CommandSpec& command, const std::string& message) {
  throw Error(ErrorCode::usage, message + " (try '" + std::string(command.program) + " " +
                                    std::string(command.name) + " --help')");
}

Argument make_operand(const std::string& text) {
  Argument operand;
  operand.value = {text};
  operand.original_tokens = {text};
  return operand;
}

std::size_t options_come_first(std::vector<Argument>& found, std::span<const std::string> rest) {
  const bool behind_operand = !found.empty() && is_operand(found.back());
  if (!behind_operand || std::getenv("POSIXLY_CORRECT") == nullptr) return 0;
  found.push_back(make_operand(rest.front()));
  return 1;
}

ParsedOptions::ParsedOptions(const CommandSpec& command, const Caller& caller,
                             std::span<const std::string> arguments, const Grammar& grammar)
    : command_(&command) {
  const po::options_description description = describe(command);
  const auto take_all = [&](std::vector<std::string>& rest) {
    std::vector<Argument> found;
    try {
      Scanner(command, caller, rest).scan(grammar, found);
    } catch (const CommandLineError& error) {
      mistake_ = error;
    }
    rest.clear();
    return found;
  };
  po::parsed_options parsed = po::command_line_parser({arguments.begin(), arguments.end()})
                                  .options(description)
                                  .extra_style_parser(take_all)
                                  .run();
  po::store(parsed, values_);
  arguments_ = std::move(parsed.options);
  for (const Argument& argument : arguments_) {
    if (is_operand(argument)) operands_.push_back(argument.value.front());
  }
}

void ParsedOptions::throw_mistake() const {
  if (mistake_) throw *mistake_;
}

bool ParsedOptions::asks_for_text() const {
  return values_.count("help") != 0 || values_.count("version") != 0;
}

const OptionSpec* ParsedOptions::find(std::string_view key) const {
  const auto found = std::ranges::find(command_->options, key, &OptionSpec::key);
  return found == command_->options.end() ? nullptr : &*found;
}

bool ParsedOptions::knows(std::string_view key) const {
  return find(key) != nullptr;
}

const OptionSpec& ParsedOptions::spec(std::string_view key) const {
  const OptionSpec* option = find(key);
  XXL_CHECK(option != nullptr);
  return *option;
}

bool ParsedOptions::has(std::string_view key) const {
  return values_.count(std::string(key)) != 0;
}

void ParsedOptions::set(std::string_view key, const std::string& value) {
  const std::string name = spec(key).key();
  std::erase_if(arguments_, [&](const Argument& given) { return given.string_key == name; });
  Argument& given = arguments_.emplace_back(name, Values());
  given.original_tokens = {"--" + name};
  if (!value.empty()) given.value = {value};
  values_.erase(name);
  values_.insert({name, po::variable_value(given.value, false)});
}

Values ParsedOptions::values(std::string_view key) const {
  return has(key) ? values_[std::string(key)].as<Values>() : Values();
}

std::string ParsedOptions::value(std::string_view key, std::string_view fallback) const {
  return has(key) ? values(key).back() : std::string(fallback);
}

std::uint64_t ParsedOptions::number(std::string_view key, std::uint64_t fallback, std::uint64_t low,
                                    std::uint64_t high) const {
  return has(key) ? parse_number(values(key).back(), "--" + std::string(key), low, high) : fallback;
}

std::string ParsedOptions::word(std::string_view key, std::string_view fallback) const {
  if (!has(key)) return std::string(fallback);
  std::string given = values(key).back();
  if (has_word(spec(key).words, given)) return given;
  throw_usage(*command_, "invalid argument '" + given + "' for '--" + std::string(key) +
                             "': use one of " + std::string(spec(key).words));
}

}  // namespace xxl::cli
