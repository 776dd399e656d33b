#include "join/join_arguments.h"

#include <cctype>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "base/quote.h"
#include "record/line_order.h"

namespace xxl::cli {
namespace {

// A whole number as join(1) reads it: white space and a plus sign may precede it, and what is too
// large counts as the largest. Nothing if it is none.
std::optional<std::size_t> read_number(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) {
    text.remove_prefix(1);
  }
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  std::size_t value = 0;
  bool too_large = false;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    too_large |= __builtin_mul_overflow(value, 10, &value) ||
                 __builtin_add_overflow(value, static_cast<std::size_t>(c - '0'), &value);
  }
  return too_large ? std::numeric_limits<std::size_t>::max() : value;
}

class JoinArgumentParser {
 public:
  JoinArgumentParser(const CommandSpec& command, const Caller& caller,
                     std::span<const std::string> arguments)
      : command_(command),
        caller_(caller),
        arguments_(arguments),
        scanner_(command, caller, arguments),
        result_(command) {}

  JoinArguments parse();

 private:
  // What an operand may be instead: the argument of an obsolescent -j1 or -j2, or a further one of
  // -o.
  enum class Role { operand, field_of_r, field_of_s, row };
  struct Operand {
    std::string text;
    Role role;
  };

  [[noreturn]] void fail(const std::string& message) const {
    throw CommandLineError(message, caller_.error_status);
  }
  [[noreturn]] void fail_with_hint(const std::string& message) const {
    fail(message + hint_line(caller_));
  }
  std::size_t parse_field(const std::string& text) const;
  std::size_t parse_side(const std::string& text) const;
  void set_field(std::size_t side, std::size_t field);
  void set_both_fields(std::size_t field);
  void add_row_fields(const std::string& list);
  RowField parse_row_field(const std::string& text) const;
  void take_operand(const std::string& text);
  void take_option(const GivenOption& given);
  void take_separator(const std::string& value);
  void take_j(const GivenOption& given);
  void finish();

  const CommandSpec& command_;
  const Caller& caller_;
  std::span<const std::string> arguments_;
  OptionScanner scanner_;
  Role role_ = Role::operand;             // of an operand that follows
  Role next_role_ = Role::operand;        // of one behind the argument that is being taken
  std::vector<Operand> operands_;         // two at most
  std::array<int, kJoinSides> bare_j_{};  // -j1 and -j2 whose argument has not been found
  std::map<std::string, std::vector<std::string>> values_;
  JoinArguments result_;
};

JoinArguments JoinArgumentParser::parse() {
  while (const std::optional<GivenOption> given = scanner_.next()) {
    next_role_ = Role::operand;
    if (given->spec == nullptr) {
      if (scanner_.options_ended()) role_ = Role::operand;
      take_operand(given->value);
    } else {
      take_option(*given);
      if (result_.ask != JoinArguments::Ask::join) return std::move(result_);
    }
    role_ = next_role_;
  }
  finish();
  return std::move(result_);
}

// From 0.
std::size_t JoinArgumentParser::parse_field(const std::string& text) const {
  const std::optional<std::size_t> number = read_number(text);
  if (!number || *number == 0) fail("invalid field number: " + quoted_for_message(text));
  return *number - 1;
}

std::size_t JoinArgumentParser::parse_side(const std::string& text) const {
  const std::optional<std::size_t> number = read_number(text);
  if (number != 1 && number != 2) fail("invalid field number: " + quoted_for_message(text));
  return *number - 1;
}

void JoinArgumentParser::set_field(std::size_t side, std::size_t field) {
  std::optional<std::size_t>& known = result_.fields[side];
  if (known && *known != field) {
    fail("incompatible join fields " + std::to_string(*known + 1) + ", " +
         std::to_string(field + 1));
  }
  known = field;
}

void JoinArgumentParser::set_both_fields(std::size_t field) {
  set_field(0, field);
  set_field(1, field);
}

RowField JoinArgumentParser::parse_row_field(const std::string& text) const {
  if (text.empty() || text[0] < '0' || text[0] > '2') {
    fail("invalid file number in field spec: " + quoted_for_message(text) +
         (caller_.stands_in ? "" : " (the output file is --output=FILE)"));
  }
  const bool is_key = text[0] == '0';
  if (is_key ? text.size() > 1 : text.size() < 2 || text[1] != '.') {
    fail("invalid field specifier: " + quoted_for_message(text));
  }
  if (is_key) return {};
  return {text[0] == '1' ? RowField::Source::r : RowField::Source::s, parse_field(text.substr(2))};
}

void JoinArgumentParser::add_row_fields(const std::string& list) {
  for (std::size_t begin = 0;;) {
    const std::size_t end = list.find_first_of(", \t", begin);
    result_.row.push_back(parse_row_field(list.substr(begin, end - begin)));
    if (end == list.npos) return;
    begin = end + 1;
  }
}

// A third operand shows that one of the two before it was none.
void JoinArgumentParser::take_operand(const std::string& text) {
  if (operands_.size() == 2) {
    const std::size_t index = operands_[0].role == Role::operand ? 1 : 0;
    const Operand other = operands_[index];
    switch (other.role) {
      case Role::operand:
        fail_with_hint("extra operand " + quote_name_always(text));
      case Role::field_of_r:
      case Role::field_of_s: {
        const std::size_t side = other.role == Role::field_of_r ? 0 : 1;
        --bare_j_[side];
        set_field(side, parse_field(other.text));
        break;
      }
      case Role::row:
        add_row_fields(other.text);
        break;
    }
    operands_.erase(operands_.begin() + static_cast<std::ptrdiff_t>(index));
  }
  operands_.push_back({text, role_});
  if (role_ == Role::row) next_role_ = Role::row;
}

void JoinArgumentParser::take_separator(const std::string& value) {
  // '': the line is one field.
  const auto separator = value.empty() ? FieldSeparator('\n') : separator_named(value);
  if (!separator) fail("multi-character tab " + quoted_for_message(value));
  if (result_.syntax.separator && *result_.syntax.separator != *separator) {
    fail("incompatible tabs");
  }
  result_.syntax.separator = separator;
}

// "-j1" by itself may be the obsolescent option, whose argument follows, or -j with the argument 1.
void JoinArgumentParser::take_j(const GivenOption& given) {
  if ((given.value == "1" || given.value == "2") && given.starts_argument &&
      !given.value_is_next_argument) {
    const std::size_t side = given.value == "1" ? 0 : 1;
    ++bare_j_[side];
    next_role_ = side == 0 ? Role::field_of_r : Role::field_of_s;
  } else {
    set_both_fields(parse_field(given.value));
  }
}

void JoinArgumentParser::take_option(const GivenOption& given) {
  const OptionSpec& spec = *given.spec;
  values_[spec.key()].push_back(given.value);
  switch (spec.short_name) {
    case 'a':
    case 'v':
      if (spec.short_name == 'v') result_.shape.pairs = false;
      (parse_side(given.value) == 0 ? result_.shape.unmatched_r : result_.shape.unmatched_s) = true;
      return;
    case 'e':
      if (result_.filler && *result_.filler != given.value) {
        fail("conflicting empty-field replacement strings");
      }
      result_.filler = given.value;
      return;
    case 'i':
      result_.ignore_case = true;
      return;
    case '1':
    case '2':
      return set_field(spec.short_name == '1' ? 0 : 1, parse_field(given.value));
    case 'j':
      return take_j(given);
    case 'o':
      if (given.value == "auto") {
        result_.auto_row = true;
      } else {
        add_row_fields(given.value);
        next_role_ = Role::row;
      }
      return;
    case 't':
      return take_separator(given.value);
    case 'z':
      result_.terminator = '\0';
      return;
    default:
      break;
  }
  if (spec.long_name == "check-order") result_.watch = OrderWatch::always;
  if (spec.long_name == "nocheck-order") result_.watch = OrderWatch::never;
  if (spec.long_name == "help") result_.ask = JoinArguments::Ask::help;
  if (spec.long_name == "version") result_.ask = JoinArguments::Ask::version;
}

void JoinArgumentParser::finish() {
  if (operands_.empty()) fail_with_hint("missing operand");
  if (operands_.size() == 1) {
    fail_with_hint("missing operand after " + quoted_for_message(arguments_.back()));
  }
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    if (bare_j_[side] != 0) set_both_fields(side);
  }
  for (const Operand& operand : operands_) result_.files.push_back(operand.text);
  result_.options = ParsedOptions(command_, result_.files, std::move(values_));
}

}  // namespace

JoinArguments parse_join_arguments(const CommandSpec& command, const Caller& caller,
                                   std::span<const std::string> arguments) {
  return JoinArgumentParser(command, caller, arguments).parse();
}

}  // namespace xxl::cli
