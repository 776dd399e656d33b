// Any words as a command line: options that read the same again, or an error; and keys of sort(1)
// in both syntaxes.
#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/options_table.h"
#include "cli/parse_options.h"
#include "fuzz_input.h"
#include "join/join_arguments.h"
#include "sort/line_arguments.h"

namespace xxl::cli {
namespace {

using fuzz::require;
using Words = std::vector<std::string>;

// What the parser made of a command line, written so that there is one way to read it.
Words plain_words(const ParsedOptions& options) {
  Words words, operands;
  for (const Argument& given : options.arguments()) {
    if (is_operand(given)) {
      operands.push_back(given.value.front());
      continue;
    }
    const OptionSpec& spec = options.spec(given.string_key);
    const std::string value = given.value.empty() ? "" : given.value.front();
    if (spec.value == ValueKind::none) require(given.value.empty());
    if (given.original_tokens.front().starts_with('+')) {
      words.insert(words.end(), given.original_tokens.begin(), given.original_tokens.end());
    } else if (spec.long_name.empty()) {
      words.push_back({'-', spec.short_name});
      if (spec.value != ValueKind::none) words.push_back(value);
    } else {
      words.push_back("--" + std::string(spec.long_name) +
                      (given.value.empty() ? "" : "=" + value));
    }
  }
  words.push_back("--");
  words.insert(words.end(), operands.begin(), operands.end());
  return words;
}

bool same_arguments(const ParsedOptions& a, const ParsedOptions& b) {
  const auto named = [](const ParsedOptions& options) {
    std::vector<std::pair<std::string, Words>> result;
    for (const Argument& given : options.arguments()) {
      if (!is_operand(given)) result.emplace_back(given.string_key, given.value);
    }
    return result;
  };
  return named(a) == named(b) && a.operands() == b.operands();
}

// A value that is a number, which is empty where what follows is none.
bool has_value_by_what_follows(const ParsedOptions& options) {
  return std::ranges::any_of(options.arguments(), [&](const Argument& given) {
    return !is_operand(given) && options.spec(given.string_key).value == ValueKind::number;
  });
}

void check_options(const CommandSpec& command, const Caller& caller, const Words& words,
                   const Grammar& grammar, const Grammar& again) {
  const ParsedOptions options(command, caller, words, grammar);
  try {
    options.throw_mistake();
  } catch (const CommandLineError& error) {
    require(error.what()[0] != '\0');
    return;
  }
  // (What follows --help is not looked at.)
  if (options.asks_for_text() || has_value_by_what_follows(options)) return;
  const ParsedOptions plain(command, caller, plain_words(options), again);
  plain.throw_mistake();
  require(same_arguments(options, plain));
}

// What the command makes of them. Names of files are not read.
void check_meaning(const CommandSpec& command, const Caller& caller, const Words& words) {
  try {
    if (command.name == "join") {
      const JoinArguments arguments = parse_join_arguments(command, caller, words);
      require(arguments.options.asks_for_text() || arguments.files.size() == kJoinSides);
      return;
    }
    ParsedOptions options(command, caller, words, sort_grammar());
    if (options.has("files0-from")) return;
    const LineArguments arguments = parse_line_arguments(caller, std::move(options));
    require(arguments.options.asks_for_text() || !arguments.files.empty());
  } catch (const Error& error) {
    require(error.code() == ErrorCode::usage && error.what()[0] != '\0');
  }
}

// A place in the old syntax counts from 0, and says where the key ends by what follows it.
struct Place {
  std::size_t field, character;
  bool has_character;
  std::string flags;

  static Place read(fuzz::Input& input) {
    constexpr std::string_view kLetters = "bdfghiMnRrV";
    Place place{input.choose(256) * input.choose(256), input.choose(256), input.choose(2) == 1, {}};
    if (!place.has_character) place.character = 0;
    for (unsigned flags = input.choose(4); flags > 0; --flags) {
      place.flags.push_back(kLetters[input.choose(kLetters.size())]);
    }
    return place;
  }
  std::string old_text() const {
    return std::to_string(field) + (has_character ? "." + std::to_string(character) : "") + flags;
  }
  std::string text_of_start() const {
    return std::to_string(field + 1) + "." + std::to_string(character + 1) + flags;
  }
  std::string text_of_end() const {
    if (character > 0) {
      return std::to_string(field + 1) + "." + std::to_string(character) + flags;
    }
    return std::to_string(std::max<std::size_t>(field, 1)) + flags;
  }
};

void check_both_syntaxes(fuzz::Input& input) {
  const Place start = Place::read(input);
  const bool has_end = input.choose(2) == 1;
  const Place end = Place::read(input);
  const std::string old_end = "-" + end.old_text();
  const auto old = parse_obsolescent_line_key(
      "+" + start.old_text(), has_end ? std::optional<std::string_view>(old_end) : std::nullopt);
  require(old == parse_line_key(start.text_of_start() + (has_end ? "," + end.text_of_end() : "")));
}

}  // namespace
}  // namespace xxl::cli

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace xxl;
  using namespace xxl::cli;
  fuzz::Input input(data, size);
  check_both_syntaxes(input);
  const auto all = commands();
  const unsigned which = input.choose(static_cast<unsigned>(all.size()) + 1);
  const CommandSpec command = which == all.size() ? stand_in_join_command() : all[which];
  const Caller caller{.command = "xxl", .prefix = "xxl: "};
  Words words;
  while (!input.rest().empty()) words.emplace_back(input.take_until('\0'));
  if (command.name == "sort") {
    check_options(command, caller, words, sort_grammar(), sort_grammar());
  } else {
    check_options(command, caller, words, nullptr, nullptr);
  }
  if (command.name == "sort" || command.name == "join") check_meaning(command, caller, words);
  return 0;
}
