#include "record/number_format.h"

#include <algorithm>
#include <array>

#include "record/decimal.h"
#include "record/digits.h"

namespace xxl {
namespace {

// Blanks that programs print between thousands: of usual width, no-break, narrow no-break, thin.
constexpr std::array<std::string_view, 4> kBlanks = {" ", "\xc2\xa0", "\xe2\x80\xaf",
                                                     "\xe2\x80\x89"};
constexpr std::array<std::string_view, 5> kMarks = {".", ",", "'", "_", "\xe2\x80\x99"};
constexpr std::string_view kMinus = "\xe2\x88\x92";  // U+2212
constexpr std::size_t kGroup = 3;

bool is_blank(std::string_view mark) {
  return std::find(kBlanks.begin(), kBlanks.end(), mark) != kBlanks.end();
}

std::size_t count_digits(std::string_view text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  return count;
}

// The mark that `text` starts with, or nothing.
std::string_view mark_at(std::string_view text) {
  for (const std::string_view mark : kBlanks) {
    if (text.starts_with(mark)) return text.substr(0, mark.size());
  }
  for (const std::string_view mark : kMarks) {
    if (text.starts_with(mark)) return text.substr(0, mark.size());
  }
  return {};
}

std::string_view trim(std::string_view text) {
  for (bool trimmed = true; trimmed;) {
    trimmed = false;
    text = trim_blanks(text);
    for (const std::string_view blank : kBlanks) {
      if (text.starts_with(blank)) {
        text.remove_prefix(blank.size());
        trimmed = true;
      }
      if (text.ends_with(blank)) {
        text.remove_suffix(blank.size());
        trimmed = true;
      }
    }
  }
  return text;
}

// Removes a sign; true for minus.
bool take_sign(std::string_view& text, bool& has_sign) {
  if (has_sign) return false;
  for (const std::string_view sign : {std::string_view("-"), std::string_view("+"), kMinus}) {
    if (!text.starts_with(sign)) continue;
    has_sign = true;
    text.remove_prefix(sign.size());
    return sign != "+";
  }
  return false;
}

}  // namespace

bool NumberFormat::parse_digits(std::string_view text, std::size_t& size) {
  const std::size_t first = count_digits(text);
  if (first == 0) return false;
  size = first;
  bool has_decimal = false;
  while (!has_decimal) {
    const std::string_view rest = text.substr(size);
    const std::string_view mark = mark_at(rest);
    if (mark.empty()) break;
    const std::size_t digits = count_digits(rest.substr(mark.size()));
    if (digits == 0) break;
    const bool may_be_thousands = thousands_.empty()
                                      ? digits == kGroup && first <= kGroup && text[0] != '0'
                                      : mark == thousands_ && digits == kGroup;
    if (may_be_thousands) {
      thousands_ = mark;
    } else if (mark != thousands_ && (mark == "." || mark == ",")) {
      decimal_ = mark;
      has_decimal = true;
    } else {
      break;
    }
    size += mark.size() + digits;
  }
  if (!has_decimal) decimal_ = thousands_ == "." ? "," : ".";
  return true;
}

std::optional<NumberFormat> NumberFormat::parse(std::string_view example) {
  NumberFormat format;
  const auto first = std::find_if(example.begin(), example.end(), is_digit);
  const auto start = static_cast<std::size_t>(first - example.begin());
  std::size_t size = 0;
  if (!format.parse_digits(example.substr(start), size)) return {};
  format.before_ = example.substr(0, start);
  format.after_ = example.substr(start + size);
  // A sign is part of a number, not of how numbers are written.
  for (const std::string* part : {&format.before_, &format.after_}) {
    const bool is_number = std::any_of(part->begin(), part->end(), [](char c) {
      return is_digit(c) || c == '-' || c == '+' || c == '"';
    });
    if (is_number || part->find(kMinus) != part->npos || !mark_at(trim(*part)).empty()) return {};
  }
  return format;
}

std::size_t NumberFormat::example_at(std::string_view text, bool comma_ends, bool letter_starts) {
  if (text.empty() || (!letter_starts && is_letter(text[0]))) return 0;
  const std::string_view ends = comma_ends ? ":," : ":";
  const std::size_t start = text.find_first_of(comma_ends ? ":,0123456789" : ":0123456789");
  if (start == text.npos || !is_digit(text[start])) return 0;
  NumberFormat format;
  std::size_t size = 0;
  if (!format.parse_digits(text.substr(start), size)) return 0;
  return std::min(text.size(), text.find_first_of(ends, start + size));
}

bool NumberFormat::takes_thousands_mark(std::string_view& text) const {
  if (thousands_.empty()) return false;
  const std::string_view mark = mark_at(text);
  if (mark != thousands_ && !(is_blank(mark) && is_blank(thousands_))) return false;
  text.remove_prefix(mark.size());
  return true;
}

bool NumberFormat::read(std::string_view field, std::string& plain) const {
  plain.clear();
  std::string_view text = trim(field);
  bool has_sign = false;
  bool is_negative = take_sign(text, has_sign);
  if (const std::string_view before = trim(before_); !before.empty() && text.starts_with(before)) {
    text = trim(text.substr(before.size()));
    is_negative |= take_sign(text, has_sign);
  }
  if (const std::string_view after = trim(after_); !after.empty() && text.ends_with(after)) {
    text = trim(text.substr(0, text.size() - after.size()));
  }
  if (is_negative) plain.push_back('-');
  std::size_t digits = count_digits(text);
  const bool may_have_thousands = digits >= 1 && digits <= kGroup;
  plain.append(text.substr(0, digits));
  text.remove_prefix(digits);
  bool has_digits = digits > 0;
  while (may_have_thousands && takes_thousands_mark(text)) {
    digits = count_digits(text);
    if (digits != kGroup) return false;
    plain.append(text.substr(0, digits));
    text.remove_prefix(digits);
  }
  if (text.starts_with(decimal_)) {
    text.remove_prefix(decimal_.size());
    digits = count_digits(text);
    plain.append(1, '.').append(text.substr(0, digits));
    text.remove_prefix(digits);
    has_digits |= digits > 0;
  }
  return has_digits && text.empty();
}

std::string NumberFormat::written(std::string_view plain) const {
  std::string text;
  if (plain.starts_with('-')) {
    text.push_back('-');
    plain.remove_prefix(1);
  }
  text += before_;
  const std::string_view whole = plain.substr(0, plain.find('.'));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (i > 0 && (whole.size() - i) % kGroup == 0) text += thousands_;
    text.push_back(whole[i]);
  }
  if (whole.size() < plain.size()) text.append(decimal_).append(plain.substr(whole.size() + 1));
  return text + after_;
}

}  // namespace xxl
