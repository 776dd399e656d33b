#include "record/csv_keys.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "record/byte_string_key.h"
#include "record/decimal.h"
#include "record/digits.h"
#include "record/iso_date.h"
#include "record/key_stretch.h"

namespace xxl {
namespace {

// First byte of a key part: what is no value is below or above every value. Numbers and dates have
// other first bytes than these two, also when all their bits are inverted.
constexpr char kEmptyFirst = '\x00';
constexpr char kValue = '\x01';
constexpr char kEmptyLast = '\xff';

// Text ends with kTextEnd (byte_string_key.h).
constexpr char kTextEnd = '\x00';

// Numbers: the first byte is kZeroNumber, or for a positive number one of the others; then digits
// two by two. Negative numbers have all bits inverted.
constexpr unsigned char kZeroNumber = 0x80;
constexpr unsigned char kTinyNumber = 0x81;   // point < kLeastPoint: 8 bytes of point follow
constexpr unsigned char kLeastNumber = 0x90;  // point == kLeastPoint
constexpr unsigned char kHugeNumber = 0xf0;   // point > kGreatestPoint: 8 bytes of point follow
constexpr std::int64_t kLeastPoint = -32;
constexpr std::int64_t kGreatestPoint = 62;
static_assert(kLeastNumber + kGreatestPoint - kLeastPoint < kHugeNumber);

// Bytes after the limit need not be the key's.
void cut(std::size_t start, std::size_t limit, std::string& key) {
  if (key.size() - start > limit) key.resize(start + limit);
}

template <class Number>
void append_big_endian(Number number, unsigned bytes, std::string& key) {
  while (bytes-- > 0) key.push_back(static_cast<char>(number >> (8 * bytes)));
}

// A field's value.
void append_text(const FieldSpan& field, KeyStretch& stretch) {
  std::string_view rest = field.content;
  while (!rest.empty() && stretch.wants_more()) {
    std::string_view piece = stretch.piece_of(rest);
    const std::size_t quote = field.escaped ? piece.find(kQuote) : piece.npos;
    if (quote != piece.npos) piece = piece.substr(0, quote + 1);
    const std::size_t from = stretch.key().size();
    stretch.key().append(piece);
    delimit_byte_string(stretch.key(), from, false);
    stretch.take();
    rest.remove_prefix(piece.size() + (quote != piece.npos ? 1 : 0));  // one of two quotes
  }
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

const char* type_in_words(CsvType type) {
  switch (type) {
    case CsvType::text:
      return "a text";
    case CsvType::number:
      return "a number";
    case CsvType::integer:
      return "an integer";
    case CsvType::date:
      return "a date (ISO 8601)";
  }
  return "";
}

// Appends the value of a field that is not empty; false if it is not of the type.
bool append_value(CsvType type, std::string_view content, KeyStretch& stretch) {
  if (type == CsvType::date) {
    const std::optional<Moment> moment = parse_iso_date(trim_blanks(content));
    if (moment) {
      append_moment(*moment, stretch.key());
      stretch.take();
    }
    return moment.has_value();
  }
  if (type == CsvType::integer && !is_integer(content)) return false;
  const std::optional<Decimal> number = parse_decimal(content);
  if (number && stretch.wants_more()) append_number(*number, stretch);
  return number.has_value();
}

bool is_empty(CsvType type, std::string_view content) {
  return (type == CsvType::text ? content : trim_blanks(content)).empty();
}

bool is_empty_or_of(CsvType type, std::string_view content) {
  if (type == CsvType::text || is_empty(type, content)) return true;
  thread_local std::string room;
  room.clear();
  KeyStretch nothing(room, 0, 0);  // only to be read
  return append_value(type, content, nothing);
}

std::string describe_mismatch(const CsvColumn& column, std::string_view content, CsvType type) {
  return in_words(column) + ": " + in_quotes(content) + " is not " + type_in_words(type);
}

// Room for the fields of a row, one per thread: rows are read one at a time.
FieldSpan* span_room(std::size_t count) {
  thread_local std::vector<FieldSpan> room;
  if (room.size() < count) room.resize(count);
  return room.data();
}

}  // namespace

CsvKeys::CsvKeys(const CsvOrder& order)
    : syntax_(order.fields), empty_last_(order.empty_last), invalid_(order.invalid) {
  const char separator = syntax_.separator;
  if (separator == kQuote || separator == '\n' || separator == '\r' || separator == '\0') {
    throw Error(ErrorCode::usage, "quotes, line ends and zero bytes cannot separate columns");
  }
  XXL_CHECK(first_named(order) == nullptr);
  for (const CsvKey& key : order.keys) columns_.push_back(key.column.index);
  for (const CsvFold& fold : order.folds) columns_.push_back(fold.column.index);
  std::sort(columns_.begin(), columns_.end());
  columns_.erase(std::unique(columns_.begin(), columns_.end()), columns_.end());
  const auto span_of = [this](std::size_t column) {
    return static_cast<std::size_t>(std::lower_bound(columns_.begin(), columns_.end(), column) -
                                    columns_.begin());
  };
  for (std::size_t i = 0; i < order.keys.size(); ++i) {
    const CsvKey& key = order.keys[i];
    // Without a mark an empty text is the lowest of all.
    key_columns_.push_back(
        {span_of(key.column.index), key.type, key.descending, i + 1 == order.keys.size(),
         key.type == CsvType::text && key.descending != empty_last_, key.column});
  }
  for (const CsvFold& fold : order.folds) {
    folded_.push_back({span_of(fold.column.index), fold.type, is_of_sum(fold.kind), fold.column});
  }
}

bool CsvKeys::Folded::holds(std::string_view content) const {
  if (!summed) return is_empty_or_of(type, content);
  if (is_empty(type, content)) return true;
  const std::optional<Decimal> number = parse_decimal(content);
  return number && DecimalSum::is_in_bounds(*number);
}

std::string CsvKeys::Folded::describe_mismatch(std::string_view content) const {
  if (!is_empty_or_of(type, content)) return xxl::describe_mismatch(column, content, type);
  return in_words(column) + ": " + in_quotes(content) + " has more than " +
         std::to_string(DecimalSum::kMaxPlaces) + " digits before or after the decimal point";
}

// Finds the fields of columns_; returns how many there are. Stops at the last one, or at a fault.
std::size_t CsvKeys::collect(std::string_view row, FieldSpan* spans) const {
  if (columns_.empty()) return 0;
  std::size_t found = 0;
  visit_fields(row, syntax_, [&](std::size_t column, const FieldSpan& field) {
    if (column != columns_[found]) return true;
    spans[found++] = field;
    return found < columns_.size();
  });
  return found;
}

RowFault CsvKeys::find_fault(std::string_view row) const {
  if (!syntax_.quotes || row.empty() || std::memchr(row.data(), kQuote, row.size()) == nullptr)
    return {};
  return visit_fields(row, syntax_, [](std::size_t, const FieldSpan&) { return true; });
}

// Appends the part of the key for a field without a value: empty if `field` is null, otherwise not
// of its type. A malformed one is like an empty one. Where such fields have a place, each of them
// is followed by its text, and empty ones come first among those of one end.
void CsvKeys::append_no_value(const FieldSpan* field, KeyStretch& stretch) const {
  const bool with_text = invalid_ != InvalidKeys::error;
  const bool last = field != nullptr && with_text ? invalid_ == InvalidKeys::last : empty_last_;
  stretch.key().push_back(last ? kEmptyLast : kEmptyFirst);
  stretch.take();
  if (!with_text) return;
  if (field != nullptr) append_text(*field, stretch);
  stretch.key().push_back(kTextEnd);
  stretch.take();
}

// Appends a part of the key, for an empty field if `field` is null.
void CsvKeys::append_column(const KeyColumn& key_column, const FieldSpan* field,
                            KeyStretch& stretch) const {
  std::string& key = stretch.key();
  const bool empty = field == nullptr || is_empty(key_column.type, field->content);
  if (key_column.type == CsvType::text) {
    if (key_column.marked) {
      key.push_back(!empty ? kValue : empty_last_ ? kEmptyLast : kEmptyFirst);
      stretch.take();
      if (empty) return;
    }
    stretch.set_inverted(key_column.descending);
    if (!empty) append_text(*field, stretch);
    // If the limit cuts the text, this mark lies after it.
    if (!key_column.last || key_column.descending) key.push_back(kTextEnd);
    stretch.take();
    stretch.set_inverted(false);
    return;
  }
  stretch.set_inverted(key_column.descending);
  const bool valid = !empty && append_value(key_column.type, field->content, stretch);
  stretch.set_inverted(false);
  if (!valid) append_no_value(empty ? nullptr : field, stretch);
}

// All columns as text.
void CsvKeys::append_all(std::string_view row, KeyStretch& stretch) const {
  KeyColumn key_column{0, CsvType::text, false, true, empty_last_, {}};
  visit_fields(row, syntax_, [&](std::size_t column, const FieldSpan& field) {
    if (column > 0) stretch.key().push_back(kTextEnd);
    append_column(key_column, &field, stretch);
    return stretch.wants_more();
  });
}

void CsvKeys::append(std::string_view row, KeyStretch& stretch) const {
  if (key_columns_.empty()) append_all(row, stretch);
  if (columns_.empty()) return;
  FieldSpan* const spans = span_room(columns_.size());
  const std::size_t found = collect(row, spans);
  for (const KeyColumn& key_column : key_columns_) {
    if (!stretch.wants_more()) return;
    append_column(key_column, key_column.span < found ? &spans[key_column.span] : nullptr, stretch);
  }
}

void CsvKeys::append_key(std::string_view row, std::size_t limit, std::string& key) const {
  append_key_part(row, 0, limit, key);
}

void CsvKeys::append_key_part(std::string_view row, std::size_t from, std::size_t limit,
                              std::string& key) const {
  const std::size_t start = key.size();
  KeyStretch stretch(key, from, limit);
  append(row, stretch);
  cut(start, limit, key);
}

std::string CsvKeys::describe_too_few(std::string_view row, std::size_t found) const {
  std::size_t count = 0;
  visit_fields(row, syntax_, [&](std::size_t, const FieldSpan&) {
    ++count;
    return true;
  });
  CsvColumn missing{columns_[found], {}};
  for (const KeyColumn& key_column : key_columns_) {
    if (key_column.span == found) missing = key_column.column;
  }
  for (const Folded& folded : folded_) {
    if (folded.span == found) missing = folded.column;
  }
  return "no " + in_words(missing) + ": the row has " +
         (count == 1 ? "one column" : std::to_string(count) + " columns");
}

std::optional<std::string> CsvKeys::check(std::string_view row) const {
  if (const RowFault fault = find_fault(row)) return fault.describe();
  if (columns_.empty()) return {};
  FieldSpan* const spans = span_room(columns_.size());
  const std::size_t found = collect(row, spans);
  if (found < columns_.size()) return describe_too_few(row, found);
  for (const KeyColumn& key_column : key_columns_) {
    if (invalid_ != InvalidKeys::error) break;
    const std::string_view content = spans[key_column.span].content;
    if (!is_empty_or_of(key_column.type, content))
      return describe_mismatch(key_column.column, content, key_column.type);
  }
  for (const Folded& folded : folded_) {
    const std::string_view content = spans[folded.span].content;
    if (!folded.holds(content)) return folded.describe_mismatch(content);
  }
  return {};
}

std::shared_ptr<const CsvKeys> make_csv_keys(const CsvOrder& order) {
  return std::make_shared<CsvKeys>(order);
}

bool append_value_key(CsvType type, const FieldSpan& field, std::string& key) {
  if (is_empty(type, field.content)) return false;
  KeyStretch stretch(key, 0, KeyExtractor::kWholeKey);
  if (type != CsvType::text) return append_value(type, field.content, stretch);
  append_text(field, stretch);
  return true;
}

std::string_view field_content(std::string_view row, FieldSyntax syntax, std::size_t column) {
  std::string_view content;
  visit_fields(row, syntax, [&](std::size_t at, const FieldSpan& field) {
    if (at == column) content = field.content;
    return at < column;
  });
  return content;
}

}  // namespace xxl
