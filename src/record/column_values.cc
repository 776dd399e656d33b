#include "record/column_values.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "record/byte_string_key.h"
#include "record/digits.h"
#include "record/iso_date.h"
#include "record/letter_case.h"
#include "record/version_key.h"

namespace xxl {
namespace {

// Numbers: the first byte is kZeroNumber, or for a positive number one of the others; then digits
// two by two. Negative numbers have all bits inverted.
constexpr unsigned char kZeroNumber = 0x80;
constexpr unsigned char kTinyNumber = 0x81;   // point < kLeastPoint: 8 bytes of point follow
constexpr unsigned char kLeastNumber = 0x90;  // point == kLeastPoint
constexpr unsigned char kHugeNumber = 0xf0;   // point > kGreatestPoint: 8 bytes of point follow
constexpr std::int64_t kLeastPoint = -32;
constexpr std::int64_t kGreatestPoint = 62;
static_assert(kLeastNumber + kGreatestPoint - kLeastPoint < kHugeNumber);

template <class Number>
void append_big_endian(Number number, unsigned bytes, std::string& key) {
  while (bytes-- > 0) key.push_back(static_cast<char>(number >> (8 * bytes)));
}

// Digits two by two, each pair a byte: twice the pair, plus 1 if more follow. So the last byte of a
// number is marked as the last, and a number is below one that continues after it.
void append_digits(const Decimal& number, KeyStretch& stretch) {
  std::string& key = stretch.key();
  const std::size_t count = number.digits();
  const auto digit = [&number](std::size_t i) {
    return static_cast<unsigned>(
        (i < number.whole.size() ? number.whole[i] : number.fraction[i - number.whole.size()]) -
        '0');
  };
  for (std::size_t i = 0; i < count; i += 2) {
    const unsigned pair = digit(i) * 10 + (i + 1 < count ? digit(i + 1) : 0);
    const auto byte = static_cast<char>(2 * pair + (i + 2 < count ? 1 : 0));
    key.push_back(number.negative ? static_cast<char>(~byte) : byte);
    if (i % KeyStretch::kPieceBytes == KeyStretch::kPieceBytes - 2 && !stretch.take()) return;
  }
  stretch.take();
}

void append_number(const Decimal& number, KeyStretch& stretch) {
  std::string& key = stretch.key();
  if (number.is_zero()) {
    key.push_back(static_cast<char>(kZeroNumber));
    stretch.take();
    return;
  }
  const std::size_t start = key.size();
  if (number.point >= kLeastPoint && number.point <= kGreatestPoint) {
    key.push_back(static_cast<char>(kLeastNumber + (number.point - kLeastPoint)));
  } else {
    key.push_back(static_cast<char>(number.point < 0 ? kTinyNumber : kHugeNumber));
    append_big_endian(static_cast<std::uint64_t>(number.point) ^ (std::uint64_t{1} << 63), 8, key);
  }
  if (number.negative) invert_bits(key, start);
  append_digits(number, stretch);
}

bool is_integer(std::string_view text) {
  text = trim_blanks(text);
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

// Seconds in 39 bits and a bit that says whether nanoseconds follow. The first byte is 1 to 149, as
// the year 9999 ends before second 2^32 x 74.
void append_moment(const Moment& moment, std::string& key) {
  constexpr std::int64_t kTwoDays = 2 * 86400;  // an offset may lead to before the year 0
  const auto seconds = static_cast<std::uint64_t>(moment.seconds + kTwoDays);
  const bool has_fraction = moment.nanoseconds != 0;
  append_big_endian((std::uint64_t{1} << 32) + 2 * seconds + (has_fraction ? 1 : 0), 5, key);
  if (has_fraction) append_big_endian(moment.nanoseconds, 4, key);
}

// Appends the value of a field in pieces, by append(piece).
template <class Append>
void append_in_pieces(const FieldSpan& field, KeyStretch& stretch, bool whole_characters,
                      Append&& append) {
  std::string_view rest = field.content;
  while (!rest.empty() && stretch.wants_more()) {
    std::string_view piece = field.take_piece(rest, stretch.piece_of(rest).size());
    if (whole_characters && !rest.empty() && starts_pair(piece.back()) && (rest[0] & 0x80) != 0) {
      piece = {piece.data(), piece.size() + 1};
      rest.remove_prefix(1);
    }
    const std::size_t from = stretch.key().size();
    append(piece);
    delimit_byte_string(stretch.key(), from, false);
    stretch.take();
  }
}

void append_ignoring_case(const FieldSpan& field, KeyStretch& stretch) {
  append_in_pieces(field, stretch, true,
                   [&stretch](std::string_view piece) { append_lower_case(piece, stretch.key()); });
}

// The number of digits in a byte, from 2; or in 8 after a byte 255.
void append_length(std::size_t length, std::string& key) {
  if (length < 253) {
    key.push_back(static_cast<char>(length + 2));
    return;
  }
  key.push_back('\xff');
  append_big_endian(static_cast<std::uint64_t>(length), 8, key);
}

// Digits become '0', their number without leading zeros, and themselves: so they compare as a
// number where digits stand among the other bytes.
void append_natural(const FieldSpan& field, KeyStretch& stretch) {
  if (field.escape != '\0') {
    std::string room;
    return append_natural({.content = field.value(room)}, stretch);
  }
  std::string& key = stretch.key();
  std::string_view rest = field.content;
  while (!rest.empty() && stretch.wants_more()) {
    const bool digits = is_digit(rest[0]);
    const auto end =
        std::find_if(rest.begin(), rest.end(), [digits](char c) { return is_digit(c) != digits; });
    std::string_view part = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
    rest.remove_prefix(part.size());
    if (!digits) {
      append_in_pieces({.content = part, .quoted = field.quoted, .escaped = field.escaped}, stretch,
                       false, [&key](std::string_view piece) { key += piece; });
      continue;
    }
    part.remove_prefix(std::min(part.find_first_not_of('0'), part.size()));
    const std::size_t from = key.size();
    key.push_back('0');
    append_length(part.size(), key);
    delimit_byte_string(key, from, false);
    while (stretch.take() && !part.empty()) {
      const std::string_view piece = stretch.piece_of(part);
      key += piece;
      part.remove_prefix(piece.size());
    }
  }
}

void append_version(const FieldSpan& field, KeyStretch& stretch) {
  std::string room;
  append_version_key(field.value(room), stretch);
}

// The first byte says what JSON has there, in the order of its kinds.
enum class JsonKind : char { is_false = 0x10, is_true, number, string, array, object };

JsonKind kind_of_json(const FieldSpan& field) {
  if (field.quoted) return JsonKind::string;
  switch (field.content.front()) {
    case 'f':
      return JsonKind::is_false;
    case 't':
      return JsonKind::is_true;
    case '[':
      return JsonKind::array;
    case '{':
      return JsonKind::object;
    default:
      return JsonKind::number;
  }
}

void append_json(const FieldSpan& field, KeyStretch& stretch) {
  const JsonKind kind = kind_of_json(field);
  stretch.key().push_back(static_cast<char>(kind));
  if (!stretch.take() || kind < JsonKind::number) return;
  const auto number = kind == JsonKind::number ? parse_decimal(field.content) : std::nullopt;
  if (number) return append_number(*number, stretch);
  append_text(field, stretch);
}

// Words for no value, in files of other programs.
constexpr std::array<std::string_view, 15> kNullWords = {"NA",   "N/A",  "n/a",  "na",   "#N/A",
                                                         "null", "NULL", "Null", "None", "none",
                                                         "nan",  "NaN",  "NAN",  "-",    "\\N"};

std::string quoted_for_shell(std::string_view word) {
  const bool plain = word.find_first_of("\\#") == word.npos;
  return plain ? std::string(word) : "'" + std::string(word) + "'";
}

// What can be done about `content`, which is not a number or date as usual.
std::string advice_on(std::string_view content, CsvType type, bool has_format) {
  if (std::find(kNullWords.begin(), kNullWords.end(), content) != kNullWords.end()) {
    return " (--null=" + quoted_for_shell(content) + " treats it as empty)";
  }
  if (has_format || content.size() > 40) return "";
  const bool has_digits = std::any_of(content.begin(), content.end(), is_digit);
  if (type == CsvType::date) {
    // Not a time with a fraction.
    const bool has_marks = content.find_first_of("/.") < content.find_first_of(":-");
    return has_digits && has_marks ? " (other dates need a format, as in date:%d/%m/%Y)" : "";
  }
  const bool has_letters = std::any_of(content.begin(), content.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
  if (!has_digits || has_letters || content.find_first_of(",$%\xc2\xe2' ") == content.npos)
    return "";
  if (!NumberFormat::parse(content)) return "";
  return " (it may need a format, as in number:1.234,56)";
}

// Valid until the next call on this thread.
std::string_view value_of(const FieldSpan& field) {
  thread_local std::string room;
  return field.value(room);
}

}  // namespace

void append_text(const FieldSpan& field, KeyStretch& stretch) {
  append_in_pieces(field, stretch, false,
                   [&stretch](std::string_view piece) { stretch.key() += piece; });
}

ColumnValues::ColumnValues(CsvType type, std::string_view format,
                           const std::vector<std::string>& nulls)
    : type_(type),
      is_text_(type == CsvType::text || type == CsvType::ci || type == CsvType::natural ||
               type == CsvType::version || type == CsvType::value),
      format_(format),
      nulls_(nulls) {
  if (format.empty()) return;
  if (type == CsvType::date) {
    date_format_.emplace(format);
  } else {
    number_format_ = NumberFormat::parse(format);
    XXL_CHECK(number_format_.has_value());
  }
}

bool ColumnValues::is_empty(const FieldSpan& field) const {
  const auto text_of = [this](std::string_view value) {
    return is_text_ ? value : trim_blanks(value);
  };
  const bool may_be_empty = type_ == CsvType::value && field.quoted;
  if (nulls_.empty()) return !may_be_empty && text_of(field.content).empty();
  std::string room;
  const bool as_written = field.escape != '\0';  // \N is not N
  const std::string_view text = text_of(as_written ? field.content : field.value(room));
  return (text.empty() && !may_be_empty) ||
         std::find(nulls_.begin(), nulls_.end(), text) != nulls_.end();
}

std::optional<Decimal> ColumnValues::number_in(std::string_view content) const {
  if (number_format_) {
    thread_local std::string plain;
    if (!number_format_->read(content, plain)) return {};
    content = plain;
  }
  if (type_ == CsvType::integer && !is_integer(content)) return {};
  return parse_decimal(content);
}

std::optional<Moment> ColumnValues::moment_in(std::string_view content) const {
  content = trim_blanks(content);
  return date_format_ ? date_format_->read(content) : parse_iso_date(content);
}

bool ColumnValues::append(const FieldSpan& field, KeyStretch& stretch) const {
  switch (type_) {
    case CsvType::text:
      append_text(field, stretch);
      return true;
    case CsvType::ci:
      append_ignoring_case(field, stretch);
      return true;
    case CsvType::natural:
      append_natural(field, stretch);
      return true;
    case CsvType::version:
      append_version(field, stretch);
      return true;
    case CsvType::value:
      append_json(field, stretch);
      return true;
    case CsvType::date: {
      const std::optional<Moment> moment = moment_in(value_of(field));
      if (moment) {
        append_moment(*moment, stretch.key());
        stretch.take();
      }
      return moment.has_value();
    }
    case CsvType::number:
    case CsvType::integer:
      break;
  }
  const std::optional<Decimal> number = number_in(value_of(field));
  if (number && stretch.wants_more()) append_number(*number, stretch);
  return number.has_value();
}

bool ColumnValues::is_empty_or_valid(const FieldSpan& field) const {
  if (is_text_ || is_empty(field)) return true;
  if (type_ == CsvType::date) return moment_in(value_of(field)).has_value();
  return number_in(value_of(field)).has_value();
}

std::optional<Decimal> ColumnValues::number(const FieldSpan& field) const {
  return number_in(value_of(field));
}

std::string ColumnValues::written(const std::string& number) const {
  return number_format_ ? number_format_->written(number) : number;
}

std::string ColumnValues::describe_mismatch(const FieldSpan& field) const {
  const std::string_view content = field.content;
  const std::string what = type_ == CsvType::date      ? "a date"
                           : type_ == CsvType::integer ? "an integer"
                                                       : "a number";
  const std::string how = !format_.empty()         ? " like " + in_quotes(format_)
                          : type_ == CsvType::date ? " (ISO 8601)"
                                                   : "";
  return in_quotes(content) + " is not " + what + how +
         advice_on(trim_blanks(content), type_, !format_.empty());
}

}  // namespace xxl
