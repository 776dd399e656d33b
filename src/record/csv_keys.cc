#include "record/csv_keys.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "record/decimal.h"
#include "record/key_stretch.h"

namespace xxl {
namespace {

// First byte of a key part: what is no value is below or above every value. Numbers and dates have
// other first bytes than these two, also when all their bits are inverted.
constexpr char kEmptyFirst = '\x00';
constexpr char kValue = '\x01';
constexpr char kEmptyLast = '\xff';

// Where all columns are the key and descending: above what stands before another column.
constexpr char kRowEnd = '\xff';

// Text ends with kTextEnd (byte_string_key.h).
constexpr char kTextEnd = '\x00';

// Bytes after the limit need not be the key's.
void cut(std::size_t start, std::size_t limit, std::string& key) {
  if (key.size() - start > limit) key.resize(start + limit);
}

void append_mark(char mark, KeyStretch& stretch) {
  stretch.key().push_back(mark);
  stretch.take();
}

// Room for the fields of a row, one per thread: rows are read one at a time.
FieldSpan* span_room(std::size_t count) {
  thread_local std::vector<FieldSpan> room;
  if (room.size() < count) room.resize(count);
  return room.data();
}

// The paths of `columns`, which are members that have numbers.
std::vector<JsonMembers::Path> paths_of(const CsvOrder& order,
                                        const std::vector<std::size_t>& columns) {
  std::vector<JsonMembers::Path> paths(columns.size());
  const auto set = [&](const CsvColumn& column) {
    const auto at = std::lower_bound(columns.begin(), columns.end(), column.index);
    paths[static_cast<std::size_t>(at - columns.begin())] = column.path;
  };
  for (const CsvKey& key : order.keys) set(key.column);
  for (const CsvFold& fold : order.folds) set(fold.column);
  return paths;
}

// The value of the field of `column`; empty where there is none.
std::string_view field_content(std::string_view row, const FieldSyntax& syntax,
                               std::size_t column) {
  std::string_view content;
  visit_fields(row, syntax, [&](std::size_t at, const FieldSpan& field) {
    if (at == column) content = field.content;
    return at < column;
  });
  return content;
}

}  // namespace

CsvKeys::CsvKeys(const CsvOrder& order)
    : syntax_(order.fields),
      are_rows_equal_(order.group),
      any_column_{.span = 0,
                  .values = {CsvType::text, {}, order.nulls},
                  .descending = order.descending,
                  .empty_last = order.empty_last,
                  .last = true,
                  .marked = order.descending != order.empty_last,
                  .column = {}} {
  check_syntax(syntax_);
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
    const bool empty_last = key.empty_last.value_or(order.empty_last);
    ColumnValues values(key.type, key.format, order.nulls);
    // Without a mark an empty text is the lowest of all.
    const bool marked = values.is_text() && key.descending != empty_last;
    key_columns_.push_back({span_of(key.column.index), std::move(values), key.descending,
                            empty_last, i + 1 == order.keys.size(), marked, key.column});
  }
  for (const CsvFold& fold : order.folds) {
    folded_.push_back({span_of(fold.column.index),
                       {fold.type, fold.format, order.nulls},
                       is_of_sum(fold.kind),
                       fold.column});
  }
  if (!syntax_.json) return;
  members_.emplace(paths_of(order, columns_), order.most_json_bytes);
  found_members_ = std::vector<std::atomic<bool>>(columns_.size() + 1);
}

bool CsvKeys::Folded::holds(const FieldSpan& field) const {
  if (!summed) return values.is_empty_or_valid(field);
  if (values.is_empty(field)) return true;
  const std::optional<Decimal> number = values.number(field);
  return number && DecimalSum::is_in_bounds(*number);
}

std::string CsvKeys::Folded::describe_mismatch(const FieldSpan& field) const {
  if (!values.is_empty_or_valid(field)) {
    return in_words(column) + ": " + values.describe_mismatch(field);
  }
  return in_words(column) + ": " + in_quotes(field.content) + " has more than " +
         std::to_string(DecimalSum::kMaxPlaces) + " digits before or after the decimal point";
}

// Finds the fields of columns_; returns how many there are. Stops at the last one, or at a fault.
std::size_t CsvKeys::collect(std::string_view row, FieldSpan* spans) const {
  if (columns_.empty()) return 0;
  if (members_) {
    members_->find(row, spans);
    return columns_.size();
  }
  std::size_t found = 0;
  visit_fields(row, syntax_, [&](std::size_t column, const FieldSpan& field) {
    if (column != columns_[found]) return true;
    spans[found++] = field;
    return found < columns_.size();
  });
  return found;
}

// Appends a part of the key, for an empty field if `field` is null.
void CsvKeys::append_column(const KeyColumn& key_column, const FieldSpan* field,
                            KeyStretch& stretch) const {
  std::string& key = stretch.key();
  const ColumnValues& values = key_column.values;
  const bool empty = field == nullptr || values.is_empty(*field);
  if (values.is_text()) {
    if (key_column.marked) {
      append_mark(!empty ? kValue : key_column.empty_last ? kEmptyLast : kEmptyFirst, stretch);
      if (empty) return;
    }
    stretch.set_inverted(key_column.descending);
    if (!empty) values.append(*field, stretch);
    // If the limit cuts the text, this mark lies after it.
    if (!key_column.last || key_column.descending) key.push_back(kTextEnd);
    stretch.take();
    stretch.set_inverted(false);
    return;
  }
  stretch.set_inverted(key_column.descending);
  const bool valid = !empty && values.append(*field, stretch);
  stretch.set_inverted(false);
  if (valid) return;
  append_mark(key_column.empty_last ? kEmptyLast : kEmptyFirst, stretch);
}

// All columns as text, or the whole line of JSON; a row is less than one that has more columns
// behind the same. Of a malformed row, which has none behind the fault, then all of it: rows that
// differ are never equal.
void CsvKeys::append_all(std::string_view row, KeyStretch& stretch) const {
  const FieldSpan whole{.content = row};
  if (members_) return append_column(any_column_, &whole, stretch);
  const RowFault fault =
      visit_fields(row, syntax_, [&](std::size_t column, const FieldSpan& field) {
        if (column > 0) append_mark(kTextEnd, stretch);
        append_column(any_column_, &field, stretch);
        return stretch.wants_more();
      });
  if (fault && stretch.wants_more()) {
    if (fault.column > 0) append_mark(kTextEnd, stretch);
    append_column(any_column_, &whole, stretch);
  }
  if (any_column_.descending && stretch.wants_more()) append_mark(kRowEnd, stretch);
}

void CsvKeys::append(std::string_view row, KeyStretch& stretch) const {
  if (key_columns_.empty()) {
    if (!are_rows_equal_) append_all(row, stretch);
    return;
  }
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

std::string CsvKeys::describe_too_few(std::size_t count, std::size_t found) const {
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

std::optional<CsvFault> CsvKeys::check(std::string_view row, std::size_t fields) const {
  using Kind = CsvFault::Kind;
  FieldSpan* const spans = span_room(columns_.size());
  std::size_t count = 0;
  std::size_t found = columns_.size();
  if (members_) {
    if (auto what = members_->check(row, spans)) return CsvFault{Kind::syntax, std::move(*what)};
    for (std::size_t i = 0; i < found_members_.size(); ++i) {
      std::atomic<bool>& found_before = found_members_[i];
      if (found_before.load(std::memory_order_relaxed)) continue;
      const bool is_there = i == columns_.size() || spans[i].content.data() != nullptr;
      if (is_there) found_before.store(true, std::memory_order_relaxed);
    }
  } else {
    if (const RowFault fault = count_fields(row, syntax_, count)) {
      return CsvFault{Kind::syntax, fault.describe()};
    }
    found = collect(row, spans);
  }
  if (found < columns_.size()) return CsvFault{Kind::no_column, describe_too_few(count, found)};
  for (const KeyColumn& key_column : key_columns_) {
    const FieldSpan& field = spans[key_column.span];
    if (key_column.values.is_empty_or_valid(field)) continue;
    return CsvFault{Kind::value, in_words(key_column.column) + ": " +
                                     key_column.values.describe_mismatch(field)};
  }
  for (const Folded& folded : folded_) {
    const FieldSpan& field = spans[folded.span];
    if (!folded.holds(field)) return CsvFault{Kind::value, folded.describe_mismatch(field)};
  }
  if (fields == 0 || count == fields) return {};
  return CsvFault{
      count < fields ? Kind::fewer_fields : Kind::more_fields,
      "the row has " + format_count(count, "field") + " instead of " + std::to_string(fields)};
}

std::vector<std::string> CsvKeys::missing_members() const {
  std::vector<std::string> names;
  const auto add = [&](std::size_t span, const CsvColumn& column) {
    const bool is_known = column.path.empty() || std::ranges::count(names, column.name) != 0;
    if (!is_known && !found_members_[span]) names.push_back(column.name);
  };
  if (!members_ || !found_members_.back()) return names;
  for (const KeyColumn& key_column : key_columns_) add(key_column.span, key_column.column);
  for (const Folded& folded : folded_) add(folded.span, folded.column);
  return names;
}

bool CsvKeys::has_empty_part(std::string_view row) const {
  FieldSpan* const spans = span_room(columns_.size());
  const std::size_t found = collect(row, spans);
  return std::any_of(key_columns_.begin(), key_columns_.end(), [&](const KeyColumn& key_column) {
    if (key_column.span >= found) return true;
    const FieldSpan& field = spans[key_column.span];
    return key_column.values.is_empty(field) || !key_column.values.is_empty_or_valid(field);
  });
}

std::optional<std::string> CsvKeys::first_value(std::string_view row) const {
  FieldSpan* const spans = span_room(columns_.size());
  const std::size_t found = collect(row, spans);
  const KeyColumn& first = key_columns_.front();
  if (first.span >= found) return std::nullopt;
  const FieldSpan& field = spans[first.span];
  if (first.values.is_empty(field) || !first.values.is_empty_or_valid(field)) return std::nullopt;
  std::string value;
  field.append_value(value);
  return value;
}

std::shared_ptr<const CsvKeys> make_csv_keys(const CsvOrder& order) {
  return std::make_shared<CsvKeys>(order);
}

bool append_value_key(const ColumnValues& values, const FieldSpan& field, std::string& key) {
  if (values.is_empty(field)) return false;
  KeyStretch stretch(key, 0, KeyExtractor::kWholeKey);
  return values.append(field, stretch);
}

std::string key_text(const CsvOrder& order, std::string_view row) {
  if (order.keys.empty()) return std::string(row);
  std::vector<FieldSpan> members(order.keys.size());
  if (order.fields.json) {
    std::vector<JsonMembers::Path> paths;
    for (const CsvKey& key : order.keys) paths.push_back(key.column.path);
    JsonMembers(paths, order.most_json_bytes).find(row, members.data());
  }
  std::string text;
  for (std::size_t i = 0; i < order.keys.size(); ++i) {
    if (!text.empty()) order.fields.separator.append_to(text);
    text += order.fields.json ? members[i].content
                              : field_content(row, order.fields, order.keys[i].column.index);
  }
  return text;
}

}  // namespace xxl
