#include "join/join_arguments.h"

#include <algorithm>
#include <regex>
#include <utility>

#include "base/quote.h"
#include "cli/input_format.h"
#include "record/digits.h"
#include "record/line_order.h"
#include "sort/line_arguments.h"

namespace xxl::cli {
namespace {

class JoinArgumentParser {
 public:
  JoinArgumentParser(const CommandSpec& command, const Caller& caller,
                     std::span<const std::string> arguments)
      : caller_(caller),
        arguments_(arguments),
        // As join(1), which looks for options behind operands, POSIXLY_CORRECT or not.
        result_(ParsedOptions(command, caller, arguments, nullptr)) {
    resolve_format(caller, result_.options);
  }

  JoinArguments parse();

 private:
  // What an operand may be instead: the argument of an obsolescent -j1 or -j2, or a further one of
  // join(1)'s -o.
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
  std::string parse_key(const std::string& text) const;
  void set_field(std::size_t side, const std::string& field);
  void set_both_fields(const std::string& field);
  void add_row_fields(const std::string& list);
  void set_row(const std::string& value);
  void refuse_fields(const std::string& file) const;
  RowField parse_row_field(const std::string& text) const;
  void take_operand(const std::string& text);
  void take_option(const Argument& given);
  void take_separator(const std::string& value);
  void take_j(const Argument& given);
  void finish();

  const Caller& caller_;
  std::span<const std::string> arguments_;
  Role role_ = Role::operand;             // of an operand that follows
  Role next_role_ = Role::operand;        // of one behind the argument that is being taken
  std::vector<Operand> operands_;         // two at most
  std::array<int, kJoinSides> bare_j_{};  // -j1 and -j2 whose argument has not been found
  JoinArguments result_;
};

JoinArguments JoinArgumentParser::parse() {
  for (const Argument& given : result_.options.arguments()) {
    next_role_ = Role::operand;
    if (is_operand(given)) {
      if (given.original_tokens.front() == "--") role_ = Role::operand;
      take_operand(given.value.front());
    } else {
      take_option(given);
    }
    role_ = next_role_;
  }
  result_.options.throw_mistake();
  if (!result_.options.asks_for_text()) finish();
  return std::move(result_);
}

// From 0.
std::size_t JoinArgumentParser::parse_field(const std::string& text) const {
  const Number number = read_number(text);
  if (number.value == 0 || !number.suffix.empty()) {
    fail("invalid field number: " + quoted_for_message(text));
  }
  return number.value - 1;
}

// The number of a field; of rows also a column as in --on.
std::string JoinArgumentParser::parse_key(const std::string& text) const {
  const bool is_number = !text.empty() && std::ranges::all_of(text, is_digit);
  if (!caller_.stands_in && !is_number) return text;
  return std::to_string(parse_field(text) + 1);
}

std::size_t JoinArgumentParser::parse_side(const std::string& text) const {
  const std::size_t side = parse_field(text);
  if (side >= kJoinSides) fail("invalid field number: " + quoted_for_message(text));
  return side;
}

void JoinArgumentParser::set_field(std::size_t side, const std::string& field) {
  std::optional<std::string>& known = result_.fields[side];
  if (known && *known != field) fail("incompatible join fields " + *known + ", " + field);
  known = field;
}

void JoinArgumentParser::set_both_fields(const std::string& field) {
  set_field(0, field);
  set_field(1, field);
}

RowField JoinArgumentParser::parse_row_field(const std::string& text) const {
  if (text.empty() || text[0] < '0' || text[0] > '2') {
    fail("invalid file number in field spec: " + quoted_for_message(text));
  }
  const bool is_key = text[0] == '0';
  if (is_key ? text.size() > 1 : text.size() < 2 || text[1] != '.') {
    fail("invalid field specifier: " + quoted_for_message(text));
  }
  if (is_key) return {};
  return {text[0] == '1' ? RowField::Origin::r : RowField::Origin::s, parse_field(text.substr(2))};
}

void JoinArgumentParser::add_row_fields(const std::string& list) {
  for (std::size_t begin = 0;;) {
    const std::size_t end = list.find_first_of(", \t", begin);
    result_.lines.row.push_back(parse_row_field(list.substr(begin, end - begin)));
    if (end == list.npos) return;
    begin = end + 1;
  }
}

void JoinArgumentParser::set_row(const std::string& value) {
  if (value == "auto") {
    result_.lines.auto_row = true;
  } else {
    add_row_fields(value);
  }
}

// Where -o is the output file: what join(1) takes for a list of fields is a mistake.
void JoinArgumentParser::refuse_fields(const std::string& file) const {
  static const std::regex fields("auto|(0|[12]\\.[0-9]+)([, \t](0|[12]\\.[0-9]+))*");
  if (!std::regex_match(file, fields)) return;
  fail("-o names the output file: for a list of fields use --layout=" + file +
       ", for a file of this name -o ./" + file);
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
        set_field(side, parse_key(other.text));
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
  auto separator = value.empty() ? FieldSeparator('\n') : separator_named(value);
  if (!separator && !caller_.stands_in) separator = parse_separator(value);
  if (!separator) fail("multi-character tab " + quoted_for_message(value));
  if (result_.lines.syntax.separator && *result_.lines.syntax.separator != *separator) {
    fail("incompatible tabs");
  }
  result_.lines.syntax.separator = separator;
}

// "-j1" by itself may be the obsolescent option, whose argument follows, or -j with the argument 1.
void JoinArgumentParser::take_j(const Argument& given) {
  const std::string& token = given.original_tokens.front();
  if (token == "-j1" || token == "-j2") {
    const std::size_t side = token == "-j1" ? 0 : 1;
    ++bare_j_[side];
    next_role_ = side == 0 ? Role::field_of_r : Role::field_of_s;
  } else {
    set_both_fields(parse_key(given.value.front()));
  }
}

void JoinArgumentParser::take_option(const Argument& given) {
  const OptionSpec& spec = result_.options.spec(given.string_key);
  const std::string value = given.value.empty() ? "" : given.value.front();
  switch (spec.short_name) {
    case 'a':
    case 'v':
      if (spec.short_name == 'v') result_.shape.pairs = false;
      (parse_side(value) == 0 ? result_.shape.unmatched_r : result_.shape.unmatched_s) = true;
      return;
    case 'e':
      if (result_.lines.filler && *result_.lines.filler != value) {
        fail("conflicting empty-field replacement strings");
      }
      result_.lines.filler = value;
      return;
    case 'i':
      result_.lines.ignore_case = true;
      return;
    case '1':
    case '2':
      return set_field(spec.short_name == '1' ? 0 : 1, parse_key(value));
    case 'j':
      return take_j(given);
    case 'o':
      if (!caller_.stands_in) {
        const bool is_letter = !given.original_tokens.front().starts_with("--");
        return is_letter ? refuse_fields(value) : void();
      }
      set_row(value);
      if (value != "auto") next_role_ = Role::row;
      return;
    case 't':
      return take_separator(value);
    case 'z':
      result_.terminator = '\0';
      return;
    default:
      break;
  }
  if (spec.long_name == "check-order") result_.watch = OrderWatch::always;
  if (spec.long_name == "nocheck-order") result_.watch = OrderWatch::never;
}

void JoinArgumentParser::finish() {
  if (operands_.empty()) fail_with_hint("missing operand");
  if (operands_.size() == 1) {
    fail_with_hint("missing operand after " + quoted_for_message(arguments_.back()));
  }
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    if (bare_j_[side] != 0) set_both_fields(std::to_string(side + 1));
  }
  for (const Operand& operand : operands_) result_.files.push_back(operand.text);
}

}  // namespace

JoinArguments parse_join_arguments(const CommandSpec& command, const Caller& caller,
                                   std::span<const std::string> arguments) {
  return JoinArgumentParser(command, caller, arguments).parse();
}

}  // namespace xxl::cli
