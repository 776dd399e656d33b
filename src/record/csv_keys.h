// Keys of rows, or of objects of JSON: columns of text, numbers and dates as order-preserving byte
// strings.
//
//   --key=price:number:desc --key=name     row  7,"Miller, Ann",12.50
//
//   price   4d e6 9b        b2 19 64 inverted: 0.125 x 10^2, digit pairs 12, 50
//   name    Miller, Ann     the last part of the key has no end mark
//
// The encodings and what is malformed: docs/internals/csv.md.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/column_values.h"
#include "record/csv_order.h"
#include "record/csv_rows.h"
#include "record/json_members.h"
#include "record/key_extractor.h"
#include "record/key_stretch.h"

namespace xxl {

// What makes a row malformed.
struct CsvFault {
  enum class Kind : std::uint8_t {
    syntax,        // its quotes, or those of JSON
    no_column,     // of a key or fold
    value,         // that of a key or fold is not of its type
    fewer_fields,  // than there should be
    more_fields,
  };
  Kind kind;
  std::string what;
};

class CsvKeys : public KeyExtractor {
 public:
  // REQUIRES: no column of `order` is left to be resolved. Throws Error{usage} if the separator is
  // none.
  explicit CsvKeys(const CsvOrder& order);

  // A field that is missing or not of its type counts as empty; throws only bad_alloc.
  void append_key(std::string_view row, std::size_t limit, std::string& key) const override;
  void append_key_part(std::string_view row, std::size_t from, std::size_t limit,
                       std::string& key) const override;
  // What makes `row` (without its terminator) malformed. Quotes, or all of JSON, are checked in the
  // whole row, whatever the key. `fields`: how many there should be; 0 if that is not known.
  std::optional<CsvFault> check(std::string_view row, std::size_t fields = 0) const;
  // Of JSON: the members that were not in any row given to check(), by their names; nothing if
  // there were no such rows.
  std::vector<std::string> missing_members() const;
  // Whether a field of the key is missing, empty or not of its type.
  bool has_empty_part(std::string_view row) const;
  // The value of the first column of the key; none if it is missing, empty or not of its type.
  std::optional<std::string> first_value(std::string_view row) const;

 private:
  struct KeyColumn {
    std::size_t span;  // which of the fields that collect() finds
    ColumnValues values;
    bool descending;
    bool empty_last;
    bool last;    // of the key: needs no end mark
    bool marked;  // text preceded by a byte that says whether it is empty
    CsvColumn column;
  };

  // A column that is folded.
  struct Folded {
    std::size_t span;
    ColumnValues values;
    bool summed;  // a number within the bounds of DecimalSum
    CsvColumn column;

    bool holds(const FieldSpan& field) const;
    std::string describe_mismatch(const FieldSpan& field) const;
  };

  std::size_t collect(std::string_view row, FieldSpan* spans) const;
  void append_column(const KeyColumn& key_column, const FieldSpan* field,
                     KeyStretch& stretch) const;
  void append_all(std::string_view row, KeyStretch& stretch) const;
  void append(std::string_view row, KeyStretch& stretch) const;
  std::string describe_too_few(std::size_t count, std::size_t found) const;

  FieldSyntax syntax_;
  std::optional<JsonMembers> members_;  // of JSON: as numbered in columns_
  // Whether check() has found them, and behind them, whether it has read any row. Written only
  // until then.
  mutable std::vector<std::atomic<bool>> found_members_;
  bool are_rows_equal_;   // without key columns; otherwise all columns are the key then
  KeyColumn any_column_;  // where there are no keys
  std::vector<KeyColumn> key_columns_;
  std::vector<std::size_t> columns_;  // of the fields needed, ascending
  std::vector<Folded> folded_;
};

std::shared_ptr<const CsvKeys> make_csv_keys(const CsvOrder& order);

// Appends the value of `field` as a key of its own: a byte string in the order of the values.
// False, and nothing is appended, if it is empty or not of the type.
bool append_value_key(const ColumnValues& values, const FieldSpan& field, std::string& key);
// The fields of the key, or the whole row.
std::string key_text(const CsvOrder& order, std::string_view row);

}  // namespace xxl
