#include "parse_options.h"

#include <boost/program_options.hpp>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/units.h"

namespace xxl::cli {
namespace {

namespace po = boost::program_options;

// The name under which Boost collects operands; no option can have it.
constexpr const char* kOperand = "operand ";

po::options_description describe(const CommandSpec& command) {
  po::options_description description;
  for (const OptionSpec& option : command.options) {
    std::string name(option.long_name);
    if (option.short_name != 0) name.append(",").push_back(option.short_name);
    auto* value = po::value<std::string>();
    if (option.value == ValueKind::none) value->zero_tokens();
    if (option.value == ValueKind::optional) value->implicit_value("");
    description.add_options()(name.c_str(), value);
  }
  description.add_options()(kOperand, po::value<std::string>());
  return description;
}

// The option with an optional value that is meant by `name`, perhaps abbreviated; or nullptr.
const OptionSpec* find_optional(const CommandSpec& command,
                                const po::options_description& description,
                                const std::string& name) {
  const po::option_description* found = nullptr;
  try {
    found = name.empty() ? nullptr : description.find_nothrow(name, true);
  } catch (const po::ambiguous_option&) {
    // Boost's own parser will meet it again, and says so better.
  }
  if (found == nullptr) return nullptr;
  for (const OptionSpec& option : command.options) {
    if (option.value == ValueKind::optional && option.long_name == found->long_name()) {
      return &option;
    }
  }
  return nullptr;
}

// An optional value must stand behind "=", as everywhere on Linux. Boost would also take the
// operand that follows, so that the file of `--stats FILE` were a value. This parser is asked
// first; it gives such an option without "=" the value that it implies.
std::vector<po::option> parse_implied_value(const CommandSpec& command,
                                            const po::options_description& description,
                                            std::vector<std::string>& arguments) {
  const std::string& argument = arguments.front();
  if (!argument.starts_with("--") || argument.find('=') != std::string::npos) return {};
  const OptionSpec* option = find_optional(command, description, argument.substr(2));
  if (option == nullptr) return {};
  std::vector<po::option> parsed(1);
  parsed.front().string_key = option->long_name;
  parsed.front().value = {std::string(option->implied)};
  parsed.front().original_tokens = {argument};
  arguments.erase(arguments.begin());
  return parsed;
}

}  // namespace

void throw_usage(const CommandSpec& command, const std::string& message) {
  throw Error(ErrorCode::usage, message + " (try 'xxl " + std::string(command.name) + " --help')");
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

ParsedOptions parse_options(const CommandSpec& command, const std::vector<std::string>& arguments) {
  namespace style = po::command_line_style;
  std::vector<std::string> operands;
  std::map<std::string, std::vector<std::string>> values;
  try {
    const po::options_description description = describe(command);
    const po::positional_options_description positions =
        po::positional_options_description().add(kOperand, -1);
    const po::parsed_options parsed =
        po::command_line_parser(arguments)
            .options(description)
            .positional(positions)
            .style(style::unix_style)  // long and short options, bundles, abbreviations
            .extra_style_parser([&](std::vector<std::string>& rest) {
              return parse_implied_value(command, description, rest);
            })
            .run();
    for (const po::option& option : parsed.options) {
      if (option.position_key >= 0) {
        operands.insert(operands.end(), option.value.begin(), option.value.end());
      } else {
        std::vector<std::string>& given = values[option.string_key];
        given.push_back(option.value.empty() ? "" : option.value.front());
      }
    }
  } catch (const po::error& error) {
    throw_usage(command, error.what());
  }
  return ParsedOptions(command, std::move(operands), std::move(values));
}

}  // namespace xxl::cli
