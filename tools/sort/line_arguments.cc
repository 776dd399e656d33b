#include "sort/line_arguments.h"

#include <sys/resource.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/quote.h"
#include "cli/machine.h"
#include "sort/sort_shared.h"

namespace xxl::cli {
namespace {

constexpr std::uint64_t kMaxThreads = 4096;
constexpr std::uint64_t kOpenFilesBesideRuns = 3;  // standard input, output and error

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// A whole number and what stands behind it, as sort(1) reads the sizes and counts of its options:
// white space and a plus sign may precede it.
struct Number {
  enum class State { ok, invalid, too_large };
  State state = State::invalid;
  std::uint64_t value = 0;
  std::string_view suffix;
};

Number read_number(std::string_view text) {
  Number number;
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) {
    text.remove_prefix(1);
  }
  if (text.starts_with('+')) text.remove_prefix(1);
  number.suffix = text;
  if (text.empty() || !is_digit(text.front())) return number;
  number.state = Number::State::ok;
  while (!number.suffix.empty() && is_digit(number.suffix.front())) {
    const auto digit = static_cast<std::uint64_t>(number.suffix.front() - '0');
    if (__builtin_mul_overflow(number.value, 10, &number.value) ||
        __builtin_add_overflow(number.value, digit, &number.value)) {
      number.state = Number::State::too_large;
    }
    number.suffix.remove_prefix(1);
  }
  return number;
}

[[noreturn]] void throw_bad_number(const std::string& option, const std::string& text,
                                   Number::State state, bool bad_suffix) {
  const std::string argument = option + " argument '" + text + "'";
  if (bad_suffix) throw CommandLineError("invalid suffix in " + argument);
  if (state == Number::State::too_large) throw CommandLineError(argument + " too large");
  throw CommandLineError("invalid " + argument);
}

// The value of -S in bytes.
std::uint64_t parse_buffer_size(const std::string& option, const std::string& text) {
  constexpr std::string_view kUnits = "KMGTPEZY";
  Number number = read_number(text);
  std::string_view suffix = number.suffix;
  if (suffix == "%" && number.state == Number::State::ok) {
    const auto bytes = static_cast<long double>(usable_memory_bytes()) * number.value / 100;
    if (bytes >= 0x1p64L) throw_bad_number(option, text, Number::State::too_large, false);
    return static_cast<std::uint64_t>(bytes);
  }
  if (suffix == "b" && number.state == Number::State::ok) return number.value;

  int shift = 10;
  if (!suffix.empty()) {
    const char unit = suffix.front();
    const bool lower = std::string_view("kmgt").find(unit) != std::string_view::npos;
    const std::size_t power = kUnits.find(lower ? static_cast<char>(std::toupper(unit)) : unit);
    if (power == std::string_view::npos) {
      throw_bad_number(option, text, number.state, number.state != Number::State::invalid);
    }
    // A unit alone is one of it.
    if (number.state == Number::State::invalid) number = {Number::State::ok, 1, suffix};
    if (suffix.size() > 1) throw_bad_number(option, text, number.state, true);
    shift = 10 * (static_cast<int>(power) + 1);
  }
  if (number.state == Number::State::ok && number.value != 0 &&
      (shift >= 64 || number.value > (~std::uint64_t{0} >> shift))) {
    number.state = Number::State::too_large;
  }
  if (number.state != Number::State::ok) throw_bad_number(option, text, number.state, false);
  return shift >= 64 ? 0 : number.value << shift;
}

unsigned parse_batch_size(const Caller& caller, const std::string& text) {
  const std::string quoted = quoted_for_message(text);
  const Number number = read_number(text);
  if (number.state == Number::State::invalid || !number.suffix.empty()) {
    throw_bad_number("--batch-size", text, number.state, number.state != Number::State::invalid);
  }
  rlimit limit{};
  std::uint64_t most = 1u << 20;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    most = std::min<std::uint64_t>(std::numeric_limits<unsigned>::max(), limit.rlim_cur);
    most -= std::min(most, kOpenFilesBesideRuns);
  }
  if (number.state == Number::State::too_large || number.value > most) {
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

unsigned parse_parallel(const std::string& text) {
  const Number number = read_number(text);
  if (number.state == Number::State::invalid || !number.suffix.empty()) {
    throw_bad_number("--parallel", text, number.state, number.state != Number::State::invalid);
  }
  if (number.state == Number::State::too_large) return kMaxThreads;
  if (number.value == 0) throw CommandLineError("number in parallel must be nonzero");
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

class LineArgumentParser {
 public:
  LineArgumentParser(const CommandSpec& command, const Caller& caller,
                     std::span<const std::string> arguments)
      : command_(command), caller_(caller), scanner_(command, caller, arguments) {}

  LineArguments parse();

 private:
  bool takes_operand_only() const;
  void take_operand(const std::string& operand);
  bool take_obsolescent_key(const std::string& operand);
  void add_key(const std::string& value);
  void take_option(const GivenOption& given);
  void take_long_option(const GivenOption& given);
  void take_check(char check);
  void take_separator(const std::string& value);
  static void take_only(std::string& place, const std::string& value, const char* complaint);
  void finish();

  const CommandSpec& command_;
  const Caller& caller_;
  OptionScanner scanner_;
  bool posixly_correct_ = std::getenv("POSIXLY_CORRECT") != nullptr;
  bool obsolescent_keys_ = knows_obsolescent_keys();
  std::string compress_program_;
  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string> operands_;
  LineArguments result_{command_};
};

LineArguments LineArgumentParser::parse() {
  while (result_.ask == LineArguments::Ask::sort) {
    if (takes_operand_only()) {
      if (scanner_.rest().empty()) break;
      operands_.push_back(scanner_.rest().front());
      scanner_.skip(1);
      continue;
    }
    const std::optional<GivenOption> given = scanner_.next();
    if (!given) break;
    if (given->spec == nullptr) {
      take_operand(given->value);
    } else {
      take_option(*given);
    }
  }
  if (result_.ask == LineArguments::Ask::sort) finish();
  return std::move(result_);
}

// With POSIXLY_CORRECT, what follows a file is a file; only -o may stand there, as it could before
// POSIX.
bool LineArgumentParser::takes_operand_only() const {
  if (!posixly_correct_ || operands_.empty()) return false;
  const std::span<const std::string> rest = scanner_.rest();
  const bool output_follows = !rest.empty() && rest.front().starts_with("-o") &&
                              (rest.front().size() > 2 || rest.size() > 1);
  return !(obsolescent_keys_ && result_.check == 0 && output_follows);
}

void LineArgumentParser::take_operand(const std::string& operand) {
  if (!operand.starts_with('+') || !take_obsolescent_key(operand)) operands_.push_back(operand);
}

bool LineArgumentParser::take_obsolescent_key(const std::string& operand) {
  const std::span<const std::string> rest = scanner_.rest();
  const bool has_end = !rest.empty() && rest.front().size() > 1 && rest.front()[0] == '-' &&
                       is_digit(rest.front()[1]);
  obsolescent_keys_ |= has_end && !posixly_correct_;
  if (!obsolescent_keys_) return false;
  const auto key = parse_obsolescent_line_key(
      operand, has_end ? std::optional<std::string_view>(rest.front()) : std::nullopt);
  if (!key) return false;
  result_.obsolescent_keys.push_back(result_.order.fields.size());
  result_.order.fields.push_back(*key);
  if (has_end) scanner_.skip(1);
  return true;
}

void LineArgumentParser::take_check(char check) {
  if (result_.check != 0 && result_.check != check) {
    throw CommandLineError("options '-cC' are incompatible");
  }
  result_.check = check;
}

void LineArgumentParser::take_separator(const std::string& value) {
  const FieldSeparator separator = parse_line_separator(value);
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

void LineArgumentParser::add_key(const std::string& value) {
  try {
    result_.order.fields.push_back(parse_line_key(value));
  } catch (const Error& error) {
    if (caller_.stands_in || value.find(':') == std::string::npos) throw;
    throw Error(error.code(), std::string(error.what()) +
                                  ": columns of CSV take --record=csv, fields of binary records "
                                  "--record=TYPE");
  }
}

void LineArgumentParser::take_option(const GivenOption& given) {
  const OptionSpec& spec = *given.spec;
  values_[spec.key()].push_back(given.value);
  if (spec.short_name != 0 &&
      set_line_key_flag(spec.short_name, BlankSide::both, result_.order.flags)) {
    return;
  }
  switch (spec.short_name) {
    case 'c':
    case 'C':
      return take_check(spec.short_name);
    case 'k':
      add_key(given.value);
      return;
    case 'm':
      result_.merge = true;
      return;
    case 'o':
      if (result_.output && *result_.output != given.value) {
        throw CommandLineError("multiple output files specified");
      }
      result_.output = given.value;
      return;
    case 's':
      result_.order.stable = true;
      return;
    case 'S':
      result_.memory_bytes =
          std::max(result_.memory_bytes.value_or(0), parse_buffer_size(given.name(), given.value));
      return;
    case 't':
      return take_separator(given.value);
    case 'u':
      result_.order.unique = true;
      return;
    case 'z':
      result_.terminator = '\0';
      return;
    case 'y':  // what follows it as an argument of its own belongs to it only if it is a number
      if (given.value_is_next_argument &&
          !std::all_of(given.value.begin(), given.value.end(), is_digit)) {
        scanner_.give_back();
      }
      return;
    default:
      return take_long_option(given);
  }
}

void LineArgumentParser::take_long_option(const GivenOption& given) {
  const std::string_view name = given.spec->long_name;
  if (name == "check") {
    take_check(parse_check_word(caller_, given.value));
  } else if (name == "sort") {
    set_line_key_flag(parse_sort_word(caller_, given.value), BlankSide::both, result_.order.flags);
  } else if (name == "compress-program") {
    take_only(compress_program_, given.value, "multiple compress programs specified");
  } else if (name == "random-source") {
    take_only(result_.random_source, given.value, "multiple random sources specified");
  } else if (name == "debug") {
    result_.debug = true;
  } else if (name == "batch-size") {
    result_.batch_size = parse_batch_size(caller_, given.value);
  } else if (name == "parallel") {
    result_.parallel = parse_parallel(given.value);
  } else if (name == "help") {
    result_.ask = LineArguments::Ask::help;
  } else if (name == "version") {
    result_.ask = LineArguments::Ask::version;
  }
}

// What can be said only when all options are known, in the order in which sort(1) says it.
void LineArgumentParser::finish() {
  result_.files = operands_;
  result_.options = ParsedOptions(command_, std::move(operands_), std::move(values_));
  refuse_options_of_others(result_.options, Scope::lines);
  if (result_.options.has("files0-from")) {
    if (!result_.files.empty()) {
      throw CommandLineError("extra operand " + quote_name_always(result_.files.front()) +
                             "\nfile operands cannot be combined with --files0-from" +
                             hint_line(caller_));
    }
    result_.files = read_names0(result_.options.value("files0-from", ""));
  }
  if (result_.files.empty()) result_.files.push_back("-");
  resolved_line_keys(result_.order);  // throws if options exclude each other
  if (result_.debug && (result_.check != 0 || result_.output)) {
    throw CommandLineError(std::string("options '-") + (result_.check != 0 ? result_.check : 'o') +
                           " --debug' are incompatible");
  }
}

}  // namespace

LineArguments parse_line_arguments(const CommandSpec& command, const Caller& caller,
                                   std::span<const std::string> arguments) {
  return LineArgumentParser(command, caller, arguments).parse();
}

}  // namespace xxl::cli
