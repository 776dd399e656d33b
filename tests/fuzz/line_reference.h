// The order of lines as sort(1) has it in the C locale: slow and plain, a comparison at a time.
#pragma once

#include <algorithm>
#include <cctype>
#include <compare>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "record/line_order.h"

namespace xxl::reference {

inline bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n';
}
inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
inline bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}
inline char upper(char c) {
  return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
}
inline void skip_blanks(std::string_view& text) {
  while (!text.empty() && is_blank(text[0])) text.remove_prefix(1);
}

// Where field `field` begins, counted from 0; where the one before it ends, if `before`.
inline std::size_t field_begin(std::string_view line, std::size_t field, bool before,
                               const std::optional<FieldSeparator>& separator) {
  std::size_t at = 0;
  for (; field > 0 && at < line.size(); --field) {
    if (separator) {
      at = std::min(line.find(separator->bytes(), at), line.size());
      if (at < line.size() && !(before && field == 1)) at += separator->bytes().size();
    } else {
      while (at < line.size() && is_blank(line[at])) ++at;
      while (at < line.size() && !is_blank(line[at])) ++at;
    }
  }
  return at;
}

inline std::string_view key_text(std::string_view line, const LineKeyField& key,
                                 const std::optional<FieldSeparator>& separator) {
  std::size_t begin = field_begin(line, key.start_field, false, separator);
  if (key.flags.skip_start_blanks) {
    while (begin < line.size() && is_blank(line[begin])) ++begin;
  }
  begin += std::min(key.start_char, line.size() - begin);
  std::size_t end = line.size();
  if (key.end_field != LineKeyField::kLineEnd && key.end_char == 0) {
    end = field_begin(line, key.end_field + 1, true, separator);
  } else if (key.end_field != LineKeyField::kLineEnd) {
    end = field_begin(line, key.end_field, false, separator);
    if (key.flags.skip_end_blanks) {
      while (end < line.size() && is_blank(line[end])) ++end;
    }
    end += std::min(key.end_char, line.size() - end);
  }
  return line.substr(begin, std::max(begin, end) - begin);
}

// A number of -n and -h: [-] digits [. digits] at the front of a text.
struct PlainNumber {
  bool negative = false;
  std::string whole, fraction;  // without zeros in front, at the end
  std::string_view rest;        // of the text

  // sort(1) skips bytes 80 before the decimal point, but not where it looks for a unit.
  explicit PlainNumber(std::string_view text, bool skips_80 = true) {
    skip_blanks(text);
    if (text.starts_with('-')) {
      negative = true;
      text.remove_prefix(1);
    }
    take_digits(text, whole, skips_80);
    if (text.starts_with('.')) {
      text.remove_prefix(1);
      take_digits(text, fraction, false);
    }
    rest = text;
    whole.erase(0, std::min(whole.find_first_not_of('0'), whole.size()));
    fraction.erase(fraction.find_last_not_of('0') + 1);
    if (is_zero()) negative = false;
  }
  bool is_zero() const { return whole.empty() && fraction.empty(); }
  std::strong_ordering operator<=>(const PlainNumber& other) const {
    if (negative != other.negative) return other.negative <=> negative;
    auto order = whole.size() <=> other.whole.size();
    if (order == 0) order = whole <=> other.whole;
    if (order == 0) order = fraction <=> other.fraction;
    return negative ? 0 <=> order : order;
  }

 private:
  static void take_digits(std::string_view& text, std::string& digits, bool skips_80) {
    for (; !text.empty(); text.remove_prefix(1)) {
      if (is_digit(text[0])) {
        digits.push_back(text[0]);
      } else if (!skips_80 || text[0] != '\x80') {
        return;
      }
    }
  }
};

inline std::strong_ordering compare_human(std::string_view a, std::string_view b) {
  const auto unit = [](std::string_view text) {
    constexpr std::string_view kUnits = "KMGTPEZY";
    const PlainNumber number(text, false);
    if (number.is_zero() || number.rest.empty()) return 0;
    const char letter = number.rest[0] == 'k' ? 'K' : number.rest[0];
    const int place = static_cast<int>(kUnits.find(letter) + 1);
    return number.negative ? -place : place;
  };
  const auto order = unit(a) <=> unit(b);
  return order != 0 ? order : PlainNumber(a) <=> PlainNumber(b);
}

inline std::strong_ordering compare_general(std::string_view a, std::string_view b) {
  struct Value {
    long double number;
    int rank;  // no number, NaN, number
    explicit Value(std::string_view text) {
      const std::string copy(text);
      char* end = nullptr;
      number = std::strtold(copy.c_str(), &end);
      rank = end == copy.c_str() ? 0 : number != number ? 1 : 2;
    }
  };
  const Value x(a), y(b);
  if (x.rank != y.rank || x.rank == 0) return x.rank <=> y.rank;
  constexpr std::size_t kBytes = 10;  // of the long double
  if (x.rank == 1) return std::memcmp(&x.number, &y.number, kBytes) <=> 0;
  return x.number < y.number   ? std::strong_ordering::less
         : x.number > y.number ? std::strong_ordering::greater
                               : std::strong_ordering::equal;
}

inline int month_of(std::string_view text) {
  skip_blanks(text);
  std::string name(text.substr(0, 3));
  std::transform(name.begin(), name.end(), name.begin(), upper);
  constexpr std::string_view kMonths[] = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                          "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
  const auto* const found = std::find(std::begin(kMonths), std::end(kMonths), name);
  return found == std::end(kMonths) ? 0 : static_cast<int>(found - std::begin(kMonths)) + 1;
}

// As filevercmp of gnulib, in GNU sort 9.1, says.
inline int version_rank(std::string_view text, std::size_t at) {
  if (at >= text.size()) return -1;
  const auto byte = static_cast<unsigned char>(text[at]);
  if (is_digit(text[at])) return 0;
  if (is_letter(text[at])) return byte;
  return text[at] == '~' ? -2 : byte + 256;
}
inline std::strong_ordering compare_version_parts(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    while ((i < a.size() && !is_digit(a[i])) || (j < b.size() && !is_digit(b[j]))) {
      const auto order = version_rank(a, i++) <=> version_rank(b, j++);
      if (order != 0) return order;
    }
    const auto number = [](std::string_view text, std::size_t& at) {
      while (at < text.size() && text[at] == '0') ++at;
      const std::size_t begin = at;
      while (at < text.size() && is_digit(text[at])) ++at;
      return text.substr(begin, at - begin);
    };
    const std::string_view x = number(a, i), y = number(b, j);
    if (x.size() != y.size()) return x.size() <=> y.size();
    if (x != y) return x <=> y;
  }
  return std::strong_ordering::equal;
}
// Without the longest (\.[A-Za-z~][A-Za-z0-9~]*)* at its end.
inline std::string_view without_suffix(std::string_view name) {
  for (std::size_t begin = 0; begin < name.size(); ++begin) {
    std::size_t i = begin;
    while (i + 1 < name.size() && name[i] == '.' &&
           (is_letter(name[i + 1]) || name[i + 1] == '~')) {
      i += 2;
      while (i < name.size() && (is_letter(name[i]) || is_digit(name[i]) || name[i] == '~')) ++i;
    }
    if (i == name.size()) return name.substr(0, begin);
  }
  return name;
}
inline std::strong_ordering compare_versions(std::string_view a, std::string_view b) {
  const auto first = [](std::string_view name) {
    return name.empty() ? 0 : name == "." ? 1 : name == ".." ? 2 : name[0] == '.' ? 3 : 4;
  };
  auto order = first(a) <=> first(b);
  if (order != 0 || first(a) < 3) return order;
  order = compare_version_parts(without_suffix(a), without_suffix(b));
  return order != 0 ? order : compare_version_parts(a, b);
}

// What of a text counts for options d, i and f.
inline std::string reduced(std::string_view text, const LineKeyFlags& flags) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (flags.dictionary && !is_blank(c) && std::isalnum(byte) == 0) continue;
    if (!flags.dictionary && flags.printing && std::isprint(byte) == 0) continue;
    result.push_back(flags.fold ? upper(c) : c);
  }
  return result;
}

// Nothing for option R, unless the keys are equal.
inline std::optional<std::strong_ordering> compare_keys(const LineKeyFlags& flags,
                                                        const std::string& a,
                                                        const std::string& b) {
  std::optional<std::strong_ordering> order;
  if (flags.numeric) {
    order = PlainNumber(a) <=> PlainNumber(b);
  } else if (flags.human_numeric) {
    order = compare_human(a, b);
  } else if (flags.general_numeric) {
    order = compare_general(a, b);
  } else if (flags.month) {
    order = month_of(a) <=> month_of(b);
  } else if (flags.random) {
    if (a == b) order = std::strong_ordering::equal;
  } else if (flags.version) {
    order = compare_versions(a, b);
  } else {
    order = a <=> b;
  }
  if (order && flags.reverse) order = 0 <=> *order;
  return order;
}

// Nothing if it does not know.
inline std::optional<std::strong_ordering> compare_lines(const LineOrder& order, std::string_view a,
                                                         std::string_view b) {
  const std::vector<LineKeyField> keys = resolved_line_keys(order);
  for (const LineKeyField& key : keys) {
    const auto result =
        compare_keys(key.flags, reduced(key_text(a, key, order.separator), key.flags),
                     reduced(key_text(b, key, order.separator), key.flags));
    if (!result || *result != 0) return result;
  }
  if (!keys.empty() && (order.stable || order.unique)) return std::strong_ordering::equal;
  return order.flags.reverse ? b <=> a : a <=> b;
}

}  // namespace xxl::reference
