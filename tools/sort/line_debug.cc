#include "sort/line_debug.h"

#include <langinfo.h>

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <cwctype>

#include "record/digits.h"
#include "record/key_span.h"

namespace xxl::cli {
namespace {

constexpr auto kIncomplete = static_cast<std::size_t>(-2);  // mbrtowc: the text ends in a character
constexpr std::string_view kUnits = "kKMGTPEZY";

bool is_numeric(const LineKeyFlags& flags) {
  return flags.numeric || flags.general_numeric || flags.human_numeric;
}

// Columns that `text` takes on a terminal. Each tab is one, also behind an incomplete character.
std::size_t width_of(std::string_view text) {
  auto width = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\t'));
  std::mbstate_t state{};
  while (!text.empty()) {
    wchar_t character = 0;
    std::size_t bytes = std::mbrtowc(&character, text.data(), text.size(), &state);
    if (bytes == kIncomplete) return width + 1;
    if (bytes == 0 || bytes > text.size()) {  // a zero byte, or none of this encoding
      width += bytes != 0;
      bytes = 1;
      state = {};
    } else if (const int columns = wcwidth(character); columns >= 0) {
      width += static_cast<std::size_t>(columns);
    } else {
      width += std::iswcntrl(static_cast<wint_t>(character)) == 0;
    }
    text.remove_prefix(bytes);
  }
  return width;
}

// Bytes of the number that `text` starts with, as options n and h read it.
std::size_t number_bytes(std::string_view text, bool human, const ByteClasses& classes) {
  const auto at = [&](std::size_t i) { return i < text.size() ? text[i] : '\0'; };
  const auto is = [&](std::size_t i, int c) {
    return i < text.size() && c >= 0 && static_cast<unsigned char>(text[i]) == c;
  };
  std::size_t i = at(0) == '-' ? 1 : 0;
  bool digits = false;
  for (; is_digit(at(i)); ++i) {
    digits = true;
    if (!is(i + 1, classes.thousands_separator)) continue;
    if (!is_digit(at(i + 2))) {  // a separator belongs to a number only within it
      return i + 1;
    }
    ++i;
  }
  if (is(i, classes.decimal_point)) {
    std::size_t fraction = i + 1;
    for (; is_digit(at(fraction)); ++fraction) digits = true;
    i = fraction;
  }
  if (!digits) return 0;
  if (human && i < text.size() && kUnits.find(text[i]) != std::string_view::npos) ++i;
  return i;
}

// Bytes of the name of a month that `text` starts with.
std::size_t month_bytes(std::string_view text, const ByteClasses& classes) {
  for (nl_item month = ABMON_1; month <= ABMON_12; ++month) {
    std::string name;
    for (const char* c = nl_langinfo(month); *c != '\0'; ++c) {
      if (!contains(classes.blank, *c)) name.push_back(*c);
    }
    const auto same = [&](char a, char b) {
      return classes.upper[static_cast<unsigned char>(a)] ==
             classes.upper[static_cast<unsigned char>(b)];
    };
    if (!name.empty() && text.size() >= name.size() &&
        std::equal(name.begin(), name.end(), text.begin(), same)) {
      return name.size();
    }
  }
  return 0;
}

std::size_t floating_point_bytes(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  (void)std::strtold(copy.c_str(), &end);
  return static_cast<std::size_t>(end - copy.c_str());
}

// Prints a line, after the name of the program.
void warn(const Caller& caller, const std::string& text) {
  std::fprintf(stderr, "%s%s\n", caller.prefix.c_str(), text.c_str());
}

// "obsolescent key '+1 -2' used; consider '-k 2,2' instead".
std::string describe_obsolescent(const LineKeyField& key) {
  std::string old_form("+");
  std::string new_form("-k ");
  old_form.append(std::to_string(key.start_field));
  new_form.append(std::to_string(key.start_field + 1));
  if (key.end_field != LineKeyField::kLineEnd) {
    const std::string end = std::to_string(key.end_field + 1);
    old_form.append(" -").append(end);
    new_form.append(",").append(end);
  }
  return "obsolescent key " + quoted_for_message(old_form) + " used; consider " +
         quoted_for_message(new_form) + " instead";
}

bool has_zero_width(const LineKeyField& key) {
  return (key.start_field != 0 || key.start_char != 0) && key.end_field < key.start_field;
}

// True if blanks before fields make a difference that was probably not meant.
bool leading_blanks_matter(const LineKeyField& key) {
  const bool within_line = key.end_field == 0 && key.end_char != 0;
  if (has_zero_width(key) || within_line) return false;
  const LineKeyFlags& flags = key.flags;
  const bool skipped_anyway = is_numeric(flags) || flags.month;
  return (!flags.skip_start_blanks && (!skipped_anyway || key.start_char != 0)) ||
         (!flags.skip_end_blanks && key.end_char != 0);
}

bool spans_fields(const LineKeyField& key) {
  return key.end_field == LineKeyField::kLineEnd || key.end_field > key.start_field;
}

// The kinds of numbers among the keys.
struct NumberKinds {
  bool plain = false;
  bool general = false;
  bool plain_spans = false;
  bool general_spans = false;

  void add(const LineKeyField& key, bool spans) {
    bool& kind = key.flags.general_numeric ? general : plain;
    bool& spanning = key.flags.general_numeric ? general_spans : plain_spans;
    kind = true;
    spanning |= spans;
  }
};

// Separators of fields that are also part of numbers.
void warn_of_number_separators(const Caller& caller, const NumberKinds& kinds,
                               const std::optional<FieldSeparator>& separator,
                               const ByteClasses& classes) {
  const auto separates_fields = [&](int c) {
    if (c < 0) return false;
    return separator ? *separator == static_cast<char>(c) : classes.blank[c];
  };
  const auto quoted = [](int c) {
    return quoted_for_message(std::string(1, static_cast<char>(c)));
  };
  bool warned = false;
  const auto warn_of = [&](int c, const char* meaning) {
    warn(caller, "field separator " + quoted(c) + " is treated as a " + meaning + " in numbers");
  };
  if (kinds.plain_spans && separates_fields(classes.thousands_separator)) {
    warn_of(classes.thousands_separator, "group separator");
    warned = true;
  }
  if (kinds.plain_spans || kinds.general_spans) {
    if (separates_fields(classes.decimal_point)) {
      warn_of(classes.decimal_point, "decimal point");
      warned = true;
    } else if (separator == FieldSeparator('-')) {
      warn_of('-', "minus sign");
    } else if (kinds.general_spans && separator == FieldSeparator('+')) {
      warn_of('+', "plus sign");
    }
  }
  if ((kinds.plain || kinds.general) && !warned) {
    const bool is_separator = separator && *separator == static_cast<char>(classes.decimal_point);
    warn(caller, (is_separator ? "numbers use " : "note numbers use ") +
                     quoted(classes.decimal_point) + " as a decimal point in this locale");
  }
  if (kinds.plain && std::strlen(std::localeconv()->thousands_sep) > 1) {
    warn(caller, "the multi-byte number group separator in this locale is not supported");
  }
}

// Options for all keys, except for keys with options of their own.
void warn_of_ignored_options(const Caller& caller, const LineOrder& order,
                             const std::vector<LineKeyField>& keys) {
  LineKeyFlags unused = order.flags;
  for (const LineKeyField& key : keys) {
    const LineKeyFlags& used = key.flags;
    if (used.dictionary) unused.dictionary = false;
    if (used.printing && !used.dictionary && !unused.dictionary) unused.printing = false;
    unused.fold &= !used.fold;
    unused.skip_start_blanks &= !used.skip_start_blanks;
    unused.skip_end_blanks &= !used.skip_end_blanks;
    unused.general_numeric &= !used.general_numeric;
    unused.human_numeric &= !used.human_numeric;
    unused.month &= !used.month;
    unused.numeric &= !used.numeric;
    unused.random &= !used.random;
    unused.reverse &= !used.reverse;
    unused.version &= !used.version;
  }
  if (order.flags.dictionary) unused.printing = false;  // d takes the place of i
  const bool has_last_resort = !order.stable && !order.unique;
  const bool reverse_unused = unused.reverse && !keys.empty();
  if (has_last_resort || keys.empty()) unused.reverse = false;
  if (unused != LineKeyFlags{}) {
    const std::string letters = line_key_letters(unused);
    warn(caller, letters.size() == 1 ? "option '-" + letters + "' is ignored"
                                     : "options '-" + letters + "' are ignored");
  }
  if (reverse_unused && has_last_resort) {
    warn(caller, "option '-r' only applies to last-resort comparison");
  }
}

}  // namespace

void warn_of_line_keys(const Caller& caller, const LineArguments& arguments) {
  if (std::setlocale(LC_ALL, "") == nullptr) warn(caller, "failed to set locale");
  const char* locale = std::setlocale(LC_COLLATE, nullptr);
  const std::string_view name = locale == nullptr ? "C" : locale;
  if (name == "C" || name == "POSIX") {
    warn(caller, "text ordering performed using simple byte comparison");
  } else {
    warn(caller, "text ordering performed using " + quoted_for_message(name) + " sorting rules");
  }

  const LineOrder& order = arguments.order;
  const std::vector<LineKeyField> keys = resolved_line_keys(order);
  NumberKinds kinds;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const LineKeyField& key = keys[i];
    const std::string number = std::to_string(i + 1);
    const bool is_given = !order.fields.empty();  // not the whole line, because of options alone
    const auto& obsolescent = arguments.obsolescent_keys;
    if (std::find(obsolescent.begin(), obsolescent.end(), i) != obsolescent.end()) {
      warn(caller, describe_obsolescent(key));
    }
    if (has_zero_width(key)) {
      warn(caller, "key " + number + " has zero width and will be ignored");
    }
    if (is_given && !order.separator && leading_blanks_matter(key)) {
      warn(caller,
           "leading blanks are significant in key " + number + "; consider also specifying 'b'");
    }
    if (!is_numeric(key.flags)) continue;
    const bool spans = is_given && spans_fields(key);
    if (spans) warn(caller, "key " + number + " is numeric and spans multiple fields");
    kinds.add(key, spans);
  }
  warn_of_number_separators(caller, kinds, order.separator, current_byte_classes());
  warn_of_ignored_options(caller, order, keys);
}

LineUnderliner::LineUnderliner(const LineOrder& order)
    : order_(order), keys_(resolved_line_keys(order)), classes_(current_byte_classes()) {}

void LineUnderliner::append(std::string_view line, std::string& out) const {
  for (const char c : line) out.push_back(c == '\t' ? '>' : c);
  out.push_back('\n');
  for (const LineKeyField& key : keys_) append_mark(line, compared_part(line, key), out);
  if (keys_.empty() || (!order_.stable && !order_.unique)) append_mark(line, line, out);
}

void LineUnderliner::append_mark(std::string_view line, std::string_view part,
                                 std::string& out) const {
  const auto offset = static_cast<std::size_t>(part.data() - line.data());
  out.append(width_of(line.substr(0, offset)), ' ');
  const std::size_t width = width_of(part);
  if (width == 0) {
    out.append("^ no match for key\n");
  } else {
    out.append(width, '_').push_back('\n');
  }
}

// The part of the key's place that is compared: of numbers and months, only these. A key that ends
// before it starts is shown where its first character would be.
std::string_view LineUnderliner::compared_part(std::string_view line,
                                               const LineKeyField& key) const {
  const LineKeyFlags& flags = key.flags;
  const bool at_line_start = key.start_field == 0 && key.start_char == 0;
  const bool is_text = !is_numeric(flags) && !flags.month;
  const auto place = [&](const LineKeyField& field) {
    return key_span(line, field, order_.separator, classes_);
  };
  LineKeyField to_line_end = key;
  to_line_end.end_field = LineKeyField::kLineEnd;
  if (at_line_start) to_line_end.flags.skip_start_blanks = false;
  LineKeyField from_line_start = key;
  from_line_start.start_field = from_line_start.start_char = 0;
  from_line_start.flags.skip_start_blanks = false;
  std::string_view part = place(to_line_end);
  const std::size_t start = line.size() - part.size();
  const std::size_t end = place(from_line_start).size();
  const bool ends_before_start = end < start;
  if (!ends_before_start) part = part.substr(0, end - start);

  if (!is_text || (flags.skip_start_blanks && at_line_start)) {
    while (!part.empty() && contains(classes_.blank, part.front())) part.remove_prefix(1);
  }
  if (ends_before_start) return part.substr(0, 0);
  if (is_text) return part;
  if (flags.month) return part.substr(0, month_bytes(part, classes_));
  if (flags.general_numeric) return part.substr(0, floating_point_bytes(part));
  return part.substr(0, number_bytes(part, flags.human_numeric, classes_));
}

}  // namespace xxl::cli
