#include "sort/line_arguments.h"

#include <sys/resource.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/quote.h"
#include "cli/input_files.h"
#include "cli/input_format.h"
#include "cli/option_scope.h"
#include "job/job_defaults.h"
#include "record/digits.h"

namespace xxl::cli {
namespace {

constexpr std::uint64_t kMaxThreads = 4096;
constexpr std::uint64_t kOpenFilesBesideRuns = 3;  // standard input, output and error

// A number that an option takes: `advice` follows a complaint about it, unless it is sort(1)'s.
struct NumberOption {
  const Caller& caller;
  std::string name;
  std::string_view advice;
};

[[noreturn]] void throw_bad_number(const NumberOption& option, const std::string& text,
                                   Number::Validity validity, bool bad_suffix) {
  const std::string argument = option.name + " argument '" + text + "'";
  const std::string advice = option.caller.stands_in ? "" : ": " + std::string(option.advice);
  if (bad_suffix) throw CommandLineError("invalid suffix in " + argument + advice);
  if (validity == Number::Validity::too_large)
    throw CommandLineError(argument + " too large" + advice);
  throw CommandLineError("invalid " + argument + advice);
}

// The value of -S in bytes; for sort(1) as that command reads it.
std::uint64_t parse_buffer_size(const Caller& caller, const Argument& given) {
  const NumberOption option{
      caller, given.original_tokens.front().starts_with("--") ? "--buffer-size" : "-S", ""};
  const std::string& text = given.value.front();
  if (!caller.stands_in) return parse_size(text, "-S", usable_memory_bytes());
  constexpr std::string_view kUnits = "KMGTPEZY";
  Number number = read_number(text);
  std::string_view suffix = number.suffix;
  if (suffix == "%" && number.validity == Number::Validity::ok) {
    const auto bytes = static_cast<long double>(usable_memory_bytes()) * number.value / 100;
    if (bytes >= 0x1p64L) throw_bad_number(option, text, Number::Validity::too_large, false);
    return static_cast<std::uint64_t>(bytes);
  }
  if (suffix == "b" && number.validity == Number::Validity::ok) return number.value;

  int shift = 10;
  if (!suffix.empty()) {
    const char unit = suffix.front();
    const bool lower = std::string_view("kmgt").find(unit) != std::string_view::npos;
    const std::size_t power = kUnits.find(lower ? static_cast<char>(std::toupper(unit)) : unit);
    if (power == std::string_view::npos) {
      throw_bad_number(option, text, number.validity, number.validity != Number::Validity::invalid);
    }
    // A unit alone is one of it.
    if (number.validity == Number::Validity::invalid) number = {Number::Validity::ok, 1, suffix};
    if (suffix.size() > 1) throw_bad_number(option, text, number.validity, true);
    shift = 10 * (static_cast<int>(power) + 1);
  }
  if (number.validity == Number::Validity::ok && number.value != 0 &&
      (shift >= 64 || number.value > (~std::uint64_t{0} >> shift))) {
    number.validity = Number::Validity::too_large;
  }
  if (number.validity != Number::Validity::ok)
    throw_bad_number(option, text, number.validity, false);
  return shift >= 64 ? 0 : number.value << shift;
}

// The value of an option that takes a number alone, which may be too large.
Number parse_sort_number(const NumberOption& option, const std::string& text) {
  const Number number = read_number(text);
  if (number.validity == Number::Validity::invalid || !number.suffix.empty()) {
    throw_bad_number(option, text, number.validity, number.validity != Number::Validity::invalid);
  }
  return number;
}

unsigned parse_batch_size(const Caller& caller, const std::string& text) {
  const std::string quoted = quoted_for_message(text);
  const Number number = parse_sort_number(
      {caller, "--batch-size", "give the number of inputs to merge at once"}, text);
  rlimit limit{};
  std::uint64_t most = 1u << 20;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    most = std::min<std::uint64_t>(std::numeric_limits<unsigned>::max(), limit.rlim_cur);
    most -= std::min(most, kOpenFilesBesideRuns);
  }
  if (number.value > most) {
    throw CommandLineError("--batch-size argument " + quoted + " too large\n" + caller.prefix +
                           "maximum --batch-size argument with current rlimit is " +
                           std::to_string(most));
  }
  if (number.value < 2) {
    throw CommandLineError("invalid --batch-size argument " + quoted + "\n" + caller.prefix +
                           "minimum --batch-size argument is " + quoted_for_message("2"));
  }
  return static_cast<unsigned>(number.value);
}

unsigned parse_parallel(const Caller& caller, const std::string& text) {
  constexpr std::string_view kAdvice =
      "give a number from 1 to 4096, or leave the option out for all cores";
  const Number number = parse_sort_number({caller, "--parallel", kAdvice}, text);
  if (number.value == 0) {
    throw CommandLineError(caller.stands_in ? "number in parallel must be nonzero"
                                            : "--parallel=0: " + std::string(kAdvice));
  }
  return static_cast<unsigned>(std::min(number.value, kMaxThreads));
}

// --check=WORD as 'c' or 'C'; the word may be shortened.
char parse_check_word(const Caller& caller, const std::string& word) {
  constexpr std::pair<std::string_view, char> kWords[] = {
      {"quiet", 'C'}, {"silent", 'C'}, {"diagnose-first", 'c'}};
  char found = 0;
  bool ambiguous = false;
  for (const auto& [name, check] : kWords) {
    if (!name.starts_with(word)) continue;
    ambiguous |= found != 0 && found != check;
    found = check;
  }
  if (found != 0 && !ambiguous) return found;
  const auto in_list = [](std::string_view name) { return quoted_for_message(name); };
  throw CommandLineError(std::string(ambiguous ? "ambiguous" : "invalid") + " argument " +
                             quoted_for_message(word) + " for " + quoted_for_message("--check") +
                             "\nValid arguments are:\n  - " + in_list("quiet") + ", " +
                             in_list("silent") + "\n  - " + in_list("diagnose-first") +
                             hint_line(caller),
                         1);
}

char parse_sort_word(const Caller& caller, const std::string& word) {
  try {
    return line_sort_letter(word);
  } catch (const Error& error) {
    throw CommandLineError(error.what() + hint_line(caller), 1);
  }
}

// True if sort(1) of the version of POSIX that is asked for knows +POS1 without -POS2 as a key: all
// but that of 2001.
bool knows_obsolescent_keys() {
  const char* version = std::getenv("_POSIX2_VERSION");
  if (version == nullptr || *version == '\0') return true;
  char* end = nullptr;
  const long number = std::strtol(version, &end, 10);
  return *end != '\0' || number < 200112 || number >= 200809;
}

bool asks_for_check(const std::vector<Argument>& found) {
  return std::any_of(found.begin(), found.end(), [](const Argument& given) {
    return given.string_key == "-c" || given.string_key == "-C" || given.string_key == "check";
  });
}

// The letter of sort(1)'s option with this key, which other commands may have for other things.
char letter_of_sort(std::string_view key) {
  static const CommandSpec sort = sort_command();
  const auto option = std::ranges::find(sort.options, key, &OptionSpec::key);
  return option == sort.options.end() ? '\0' : option->short_name;
}

class LineArgumentParser {
 public:
  LineArgumentParser(const Caller& caller, ParsedOptions options)
      : caller_(caller), result_(std::move(options)) {}

  LineArguments parse();

 private:
  void add_key(const Argument& given);
  void take_option(const Argument& given);
  void take_long_option(std::string_view name, const std::string& value);
  void take_check(char check);
  void take_separator(const std::string& value);
  static void take_only(std::string& place, const std::string& value, const char* complaint);
  void finish();

  const Caller& caller_;
  std::string compress_program_;
  LineArguments result_;
};

LineArguments LineArgumentParser::parse() {
  for (const Argument& given : result_.options.arguments()) {
    if (!is_operand(given)) take_option(given);
  }
  result_.options.throw_mistake();
  if (!result_.options.asks_for_text()) finish();
  return std::move(result_);
}

void LineArgumentParser::take_check(char check) {
  if (result_.check != 0 && result_.check != check) {
    throw CommandLineError("options '-cC' are incompatible");
  }
  result_.check = check;
}

void LineArgumentParser::take_separator(const std::string& value) {
  const FieldSeparator separator =
      caller_.stands_in ? parse_line_separator(value) : parse_separator(value);
  if (result_.order.separator && *result_.order.separator != separator) {
    throw CommandLineError("incompatible tabs");
  }
  result_.order.separator = separator;
}

// For an option that may be given again with the same value only.
void LineArgumentParser::take_only(std::string& place, const std::string& value,
                                   const char* complaint) {
  if (!place.empty() && place != value) throw CommandLineError(complaint);
  place = value;
}

void LineArgumentParser::add_key(const Argument& given) {
  const std::string& value = given.value.front();
  const auto& tokens = given.original_tokens;
  if (is_obsolescent_key(given)) {
    result_.obsolescent_keys.push_back(result_.order.fields.size());
    result_.order.fields.push_back(*parse_obsolescent_line_key(
        value, tokens.size() == 2 ? std::optional<std::string_view>(tokens[1]) : std::nullopt));
    return;
  }
  try {
    result_.order.fields.push_back(parse_line_key(value));
  } catch (const Error& error) {
    const bool is_column = value.find(':') != value.npos || (!value.empty() && !is_digit(value[0]));
    if (caller_.stands_in || !is_column) throw;
    throw Error(error.code(), quoted_for_message(value) +
                                  " is not a field of lines: for a CSV file add --csv, for "
                                  "binary records --format=TYPE");
  }
}

void LineArgumentParser::take_option(const Argument& given) {
  const std::string value = given.value.empty() ? "" : given.value.front();
  const char letter = letter_of_sort(given.string_key);
  if (letter != 0 && set_line_key_flag(letter, BlankSide::both, result_.order.flags)) return;
  switch (letter) {
    case 'c':
    case 'C':
      return take_check(letter);
    case 'k':
      return add_key(given);
    case 'o':
      if (result_.output && *result_.output != value) {
        throw CommandLineError("multiple output files specified");
      }
      result_.output = value;
      return;
    case 's':
      result_.order.stable = true;
      return;
    case 'S':
      result_.memory_bytes =
          std::max(result_.memory_bytes.value_or(0), parse_buffer_size(caller_, given));
      return;
    case 't':
      return take_separator(value);
    case 'u':
      result_.order.unique = true;
      return;
    case 'z':
      result_.terminator = '\0';
      return;
    default:
      return take_long_option(given.string_key, value);
  }
}

void LineArgumentParser::take_long_option(std::string_view name, const std::string& value) {
  if (name == "check") {
    take_check(parse_check_word(caller_, value));
  } else if (name == "sort") {
    set_line_key_flag(parse_sort_word(caller_, value), BlankSide::both, result_.order.flags);
  } else if (name == "compress-program") {
    take_only(compress_program_, value, "multiple compress programs specified");
  } else if (name == "random-source") {
    take_only(result_.random_source, value, "multiple random sources specified");
  } else if (name == "debug") {
    result_.debug = true;
  } else if (name == "batch-size") {
    result_.batch_size = parse_batch_size(caller_, value);
  } else if (name == "parallel") {
    result_.threads = parse_parallel(caller_, value);
  }
}

// What can be said only when all options are known, in the order in which sort(1) says it.
void LineArgumentParser::finish() {
  result_.files = result_.options.operands();
  refuse_options_of_others(result_.options, Scope::lines);
  if (result_.options.has("files0-from")) {
    if (!result_.files.empty()) {
      throw CommandLineError("extra operand " + quote_name_always(result_.files.front()) +
                             "\nfile operands cannot be combined with --files0-from" +
                             hint_line(caller_));
    }
    result_.files = read_names0(result_.options.value("files0-from", ""), caller_.stands_in);
    if (!caller_.stands_in) check_listed_files(result_.options, result_.files);
  }
  if (result_.files.empty()) result_.files.push_back("-");
  resolved_line_keys(result_.order);  // throws if options exclude each other
  if (result_.debug && (result_.check != 0 || result_.output)) {
    throw CommandLineError(std::string("options '-") + (result_.check != 0 ? result_.check : 'o') +
                           " --debug' are incompatible");
  }
}

}  // namespace

Number read_number(std::string_view text) {
  Number number;
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) {
    text.remove_prefix(1);
  }
  if (text.starts_with('+')) text.remove_prefix(1);
  number.suffix = text;
  if (text.empty() || !is_digit(text.front())) return number;
  number.validity = Number::Validity::ok;
  while (!number.suffix.empty() && is_digit(number.suffix.front())) {
    const auto digit = static_cast<std::uint64_t>(number.suffix.front() - '0');
    if (__builtin_mul_overflow(number.value, 10, &number.value) ||
        __builtin_add_overflow(number.value, digit, &number.value)) {
      number.validity = Number::Validity::too_large;
    }
    number.suffix.remove_prefix(1);
  }
  if (number.validity == Number::Validity::too_large) number.value = ~std::uint64_t{0};
  return number;
}

Grammar sort_grammar() {
  const bool posixly_correct = std::getenv("POSIXLY_CORRECT") != nullptr;
  return [posixly_correct, obsolescent = knows_obsolescent_keys()](
             std::vector<Argument>& found,
             std::span<const std::string> rest) mutable -> std::size_t {
    const std::string& argument = rest.front();
    if (posixly_correct && std::any_of(found.begin(), found.end(), is_operand)) {
      const bool is_output = argument.starts_with("-o") && (argument.size() > 2 || rest.size() > 1);
      if (is_output && obsolescent && !asks_for_check(found)) return 0;
      found.push_back(make_operand(argument));
      return 1;
    }
    const bool has_end =
        rest.size() > 1 && rest[1].size() > 1 && rest[1][0] == '-' && is_digit(rest[1][1]);
    if (!parse_obsolescent_line_key(argument, std::nullopt)) return 0;
    obsolescent |= has_end && !posixly_correct;
    if (!obsolescent) return 0;
    Argument key("key", {argument});
    key.original_tokens.assign(rest.begin(), rest.begin() + (has_end ? 2 : 1));
    found.push_back(std::move(key));
    return has_end ? 2 : 1;
  };
}

LineArguments parse_line_arguments(const Caller& caller, ParsedOptions options) {
  return LineArgumentParser(caller, std::move(options)).parse();
}

}  // namespace xxl::cli
