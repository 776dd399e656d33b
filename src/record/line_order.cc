#include "record/line_order.h"

#include <langinfo.h>

#include <cstring>
#include <cwchar>
#include <cwctype>
#include <utility>

#include "base/error.h"
#include "record/digits.h"

namespace xxl {
namespace {

[[noreturn]] void bad_field_spec(std::string_view spec, std::string_view problem) {
  throw Error(ErrorCode::usage,
              std::string(problem) + ": invalid field specification " + quoted_for_message(spec));
}

bool is_utf8_locale() {
  return std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

// What strtoumax accepts as white space, in any locale.
bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// A count at the start of `text`, which then begins after it; as strtoumax reads it (white space
// and a plus sign may precede it). Nothing if there is none. Too large a count becomes the largest.
std::optional<std::size_t> read_count(std::string_view& text) {
  std::size_t i = 0;
  while (i < text.size() && is_space(text[i])) ++i;
  if (i < text.size() && text[i] == '+') ++i;
  if (i == text.size() || !is_digit(text[i])) return std::nullopt;
  std::size_t count = 0;
  for (; i < text.size() && is_digit(text[i]); ++i) {
    if (__builtin_mul_overflow(count, 10, &count) ||
        __builtin_add_overflow(count, static_cast<std::size_t>(text[i] - '0'), &count)) {
      while (i + 1 < text.size() && is_digit(text[i + 1])) ++i;
      count = std::numeric_limits<std::size_t>::max();
    }
  }
  text.remove_prefix(i);
  return count;
}

std::size_t require_count(std::string_view& text, std::string_view problem) {
  if (const auto count = read_count(text)) return *count;
  throw Error(ErrorCode::usage,
              std::string(problem) + ": invalid count at start of " + quoted_for_message(text));
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

void take_flags(std::string_view& text, BlankSide blanks, LineKeyFlags& flags) {
  while (!text.empty() && set_line_key_flag(text.front(), blanks, flags)) text.remove_prefix(1);
}

void check_compatible(LineKeyFlags flags) {
  const bool textual = flags.version || flags.random || flags.dictionary || flags.printing;
  if (flags.numeric + flags.general_numeric + flags.human_numeric + flags.month + textual <= 1) {
    return;
  }
  flags.skip_start_blanks = flags.skip_end_blanks = flags.reverse = false;
  throw Error(ErrorCode::usage, "options '-" + line_key_letters(flags) + "' are incompatible");
}

// All flags except b, which has two.
constexpr std::pair<char, bool LineKeyFlags::*> kFlags[] = {
    {'d', &LineKeyFlags::dictionary},      {'f', &LineKeyFlags::fold},
    {'g', &LineKeyFlags::general_numeric}, {'h', &LineKeyFlags::human_numeric},
    {'i', &LineKeyFlags::printing},        {'M', &LineKeyFlags::month},
    {'n', &LineKeyFlags::numeric},         {'R', &LineKeyFlags::random},
    {'r', &LineKeyFlags::reverse},         {'V', &LineKeyFlags::version},
};

constexpr std::pair<std::string_view, char> kSortWords[] = {
    {"general-numeric", 'g'}, {"human-numeric", 'h'}, {"month", 'M'},
    {"numeric", 'n'},         {"random", 'R'},        {"version", 'V'},
};

// One character, or a byte that is none, of a quoted text.
void append_escaped(std::string_view character, bool prints, std::string_view right_quote,
                    std::string& out) {
  static constexpr std::pair<char, char> kEscapes[] = {
      {'\a', 'a'}, {'\b', 'b'}, {'\f', 'f'}, {'\n', 'n'},
      {'\r', 'r'}, {'\t', 't'}, {'\v', 'v'}, {'\\', '\\'},
  };
  for (const auto& [c, letter] : kEscapes) {
    if (character.size() == 1 && character.front() == c) {
      out += '\\';
      out += letter;
      return;
    }
  }
  if (prints) {
    if (character == right_quote) out += '\\';
    out += character;
    return;
  }
  for (const char c : character) {
    const auto byte = static_cast<unsigned char>(c);
    out += '\\';
    for (int shift = 6; shift >= 0; shift -= 3) out += static_cast<char>('0' + (byte >> shift & 7));
  }
}

}  // namespace

bool LineKeyFlags::compares_plainly() const {
  LineKeyFlags forward = *this;
  forward.reverse = false;
  return forward == LineKeyFlags{};
}

bool set_line_key_flag(char letter, BlankSide blanks, LineKeyFlags& flags) {
  if (letter == 'b') {
    if (blanks != BlankSide::end) flags.skip_start_blanks = true;
    if (blanks != BlankSide::start) flags.skip_end_blanks = true;
    return true;
  }
  for (const auto& [name, flag] : kFlags) {
    if (name != letter) continue;
    flags.*flag = true;
    return true;
  }
  return false;
}

LineKeyField parse_line_key(std::string_view argument) {
  LineKeyField key;
  std::string_view rest = argument;
  key.start_field = require_count(rest, "invalid number at field start");
  if (key.start_field-- == 0) bad_field_spec(argument, "field number is zero");
  if (take(rest, '.')) {
    key.start_char = require_count(rest, "invalid number after '.'");
    if (key.start_char-- == 0) bad_field_spec(argument, "character offset is zero");
  }
  take_flags(rest, BlankSide::start, key.flags);
  if (take(rest, ',')) {
    key.end_field = require_count(rest, "invalid number after ','");
    if (key.end_field-- == 0) bad_field_spec(argument, "field number is zero");
    if (take(rest, '.')) key.end_char = require_count(rest, "invalid number after '.'");
    take_flags(rest, BlankSide::end, key.flags);
  }
  if (!rest.empty()) bad_field_spec(argument, "stray character in field spec");
  return key;
}

std::optional<LineKeyField> parse_obsolescent_line_key(std::string_view start,
                                                       std::optional<std::string_view> end) {
  LineKeyField key;
  std::string_view rest = start;
  if (!take(rest, '+')) return std::nullopt;
  const auto field = read_count(rest);
  if (!field) return std::nullopt;
  key.start_field = *field;
  if (take(rest, '.')) {
    const auto character = read_count(rest);
    if (!character) return std::nullopt;
    key.start_char = *character;
  }
  take_flags(rest, BlankSide::start, key.flags);
  if (!rest.empty()) return std::nullopt;
  if (!end) return key;

  rest = *end;
  take(rest, '-');
  key.end_field = require_count(rest, "invalid number after '-'");
  if (take(rest, '.')) key.end_char = require_count(rest, "invalid number after '.'");
  // -POS2 names the first byte after the key, so -B.0 is the end of field B-1. (-0 is not before
  // the line, as one might expect, but the end of the first field.)
  if (key.end_char == 0 && key.end_field != 0) --key.end_field;
  take_flags(rest, BlankSide::end, key.flags);
  if (!rest.empty()) bad_field_spec(*end, "stray character in field spec");
  return key;
}

char line_sort_letter(std::string_view word) {
  int matches = 0;
  char letter = 0;
  for (const auto& [name, option] : kSortWords) {
    if (name == word) return option;
    if (name.substr(0, word.size()) != word) continue;
    ++matches;
    letter = option;
  }
  if (matches == 1) return letter;
  std::string message = matches ? "ambiguous" : "invalid";
  message += " argument " + quoted_for_message(word) + " for " + quoted_for_message("--sort") +
             "\nValid arguments are:";
  for (const auto& [name, option] : kSortWords) message += "\n  - " + quoted_for_message(name);
  throw Error(ErrorCode::usage, message);
}

std::optional<FieldSeparator> separator_named(std::string_view argument) {
  if (argument.size() == 1) return FieldSeparator(argument.front());
  if (argument == "\\0") return FieldSeparator('\0');
  std::mbstate_t state{};
  const bool is_character =
      argument.size() > 1 && argument.size() <= FieldSeparator::kMaxBytes && is_utf8_locale() &&
      std::mbrtowc(nullptr, argument.data(), argument.size(), &state) == argument.size();
  return is_character ? std::optional(FieldSeparator(argument)) : std::nullopt;
}

FieldSeparator parse_line_separator(std::string_view argument) {
  if (argument.empty()) throw Error(ErrorCode::usage, "empty tab");
  if (const auto separator = separator_named(argument)) return *separator;
  throw Error(ErrorCode::usage, "multi-character tab " + quoted_for_message(argument));
}

FieldSeparator parse_separator(std::string_view argument) {
  if (argument == "\\t") return FieldSeparator('\t');
  if (const auto separator = separator_named(argument)) return *separator;
  const bool is_escape = argument.size() == 2 && argument[0] == '\\';
  if (!argument.empty() && argument.size() <= FieldSeparator::kMaxBytes && !is_escape) {
    return FieldSeparator(argument);
  }
  throw Error(ErrorCode::usage, "the separator must be one to " +
                                    std::to_string(FieldSeparator::kMaxBytes) + " bytes, not " +
                                    quoted_for_message(argument) +
                                    ": for a tab use --tsv or -t '\\t'");
}

std::vector<LineKeyField> resolved_line_keys(const LineOrder& order) {
  std::vector<LineKeyField> keys = order.fields;
  for (LineKeyField& key : keys) {
    if (key.flags == LineKeyFlags{}) key.flags = order.flags;
  }
  if (keys.empty() && !order.flags.compares_plainly()) {
    keys.emplace_back();
    keys.back().flags = order.flags;
  }
  for (const LineKeyField& key : keys) check_compatible(key.flags);
  return keys;
}

bool needs_random(const LineOrder& order) {
  const std::vector<LineKeyField> keys = resolved_line_keys(order);
  return std::any_of(keys.begin(), keys.end(),
                     [](const LineKeyField& key) { return key.flags.random; });
}

std::string line_key_letters(const LineKeyFlags& flags) {
  std::string letters = flags.skip_start_blanks || flags.skip_end_blanks ? "b" : "";
  for (const auto& [letter, flag] : kFlags) {
    if (flags.*flag && !(letter == 'i' && flags.dictionary)) letters += letter;
  }
  return letters;
}

std::string quoted_for_message(std::string_view text) {
  const bool utf8 = is_utf8_locale();
  const std::string_view left = utf8 ? "\u2018" : "'";
  const std::string_view right = utf8 ? "\u2019" : "'";
  std::string out(left);
  std::mbstate_t state{};
  while (!text.empty()) {
    wchar_t wide = 0;
    std::size_t length = std::mbrtowc(&wide, text.data(), text.size(), &state);
    const bool valid = length <= text.size();
    if (!valid) state = std::mbstate_t{};
    if (!valid || length == 0) length = 1;
    append_escaped(text.substr(0, length), valid && std::iswprint(static_cast<std::wint_t>(wide)),
                   right, out);
    text.remove_prefix(length);
  }
  out += right;
  return out;
}

}  // namespace xxl
