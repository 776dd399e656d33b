// The columns that rows are sorted, joined and folded by, their types and directions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "record/field_syntax.h"
#include "record/fold_kind.h"

namespace xxl {

// `ci` is text without regard to upper and lower case; in `natural` text, digits are numbers;
// `version` is the order of sort -V (column_values.h).
// `value` is what JSON says it is: a number, a string, ...
enum class CsvType { text, number, integer, date, ci, natural, version, value };

// What becomes of malformed rows.
enum class MalformedRows {
  by_default,  // an error; but rows with another number of fields than the first are only counted
  error,
  skip,  // they are left out
  keep,  // they stay; a key that cannot be read counts as empty
};

// A column by its place, or by its name in the header.
struct CsvColumn {
  static constexpr std::size_t kByName = ~std::size_t{0};
  std::size_t index = kByName;         // from 0; kByName until resolve_columns has found it
  std::string name;                    // empty: given by its number
  std::size_t from_end = 0;            // 1: the last one; 0: it is counted from the first
  std::vector<std::string> path = {};  // of JSON: the names on the way to the member
  bool operator==(const CsvColumn&) const = default;
};

struct CsvKey {
  CsvColumn column;
  CsvType type = CsvType::text;
  bool descending = false;
  std::string format = {};              // of numbers or dates; empty: the usual one
  std::optional<bool> empty_last = {};  // instead of CsvOrder::empty_last
  bool to_last = false;  // and all columns after it, until resolve_columns knows how many there are
  bool operator==(const CsvKey&) const = default;
};

// What becomes of a column where rows with equal keys become one.
struct CsvFold {
  FoldKind kind = FoldKind::sum;
  CsvColumn column;
  CsvType type = CsvType::text;  // of its values, or they are empty
  std::string name;              // of one more column, for the result; empty: in place of the field
  std::string format = {};       // as of a key
  bool operator==(const CsvFold&) const = default;
};

inline constexpr std::string_view kCountColumn = "count";  // what --count calls its column

// What rows are sorted by.
struct CsvOrder {
  FieldSyntax fields;
  std::vector<CsvKey> keys;  // none: all columns as text, from the first to the last; of groups:
                             // all rows are equal
  bool descending = false;   // without keys: all columns
  bool empty_last = false;   // empty fields come last, also of a descending key; otherwise first
  std::vector<std::string> nulls;  // texts of fields that count as empty
  MalformedRows malformed = MalformedRows::by_default;
  std::vector<CsvFold> folds;      // their columns must be of their types in every row
  bool group = false;              // rows become their keys and folds, in this order
  bool count = false;              // one more column, for the number of rows of a key
  std::size_t header_columns = 0;  // if there is a header, once it is known
  std::size_t most_json_bytes = ~std::size_t{0};  // of a line
};

// `keys` of a table of so many columns, each of one of them, by its number or name. Throws
// Error{usage}, with `path`.
std::vector<CsvKey> resolve_places(const std::vector<CsvKey>& keys, std::size_t columns,
                                   std::string_view path);

// The first column that is given by name, or that depends on how many there are; null if there is
// none.
const CsvColumn* first_named(const CsvOrder& order);
// Finds these columns in `header`, the first row of the file `path`. Throws
// Error{usage} if a name is not there, or there more than once (also by the NAME of a fold, or as
// kCountColumn), and Error{bad_input} if the row is malformed.
void resolve_columns(CsvOrder& order, std::string_view header, std::string_view path);
// The same of JSON: gives the members of `order` numbers.
void number_members(CsvOrder& order);
// Throws Error{usage} if two folds of `order`, with columns that have been found, are to take the
// place of one field.
void check_folds(const CsvOrder& order);
// The same if a fold would put another value in place of a column of the key, so that the rows
// would no longer be in order.
void check_folds_keep_key(const CsvOrder& order);

// What rows of groups are sorted by within a group; none: they stay in the order of the input.
// Columns have been found. Throws Error{usage} if the folds need different orders.
std::vector<CsvKey> keys_within_groups(const CsvOrder& order);
// The columns of groups, which `header` (none of JSON) does not name otherwise, with columns that
// have been found. Throws Error{usage} if two have the same name.
std::vector<std::string> names_of_groups(const CsvOrder& order, std::string_view header);

// For messages: "'the start of a value...'" on one line, "column 2 (name)".
std::string in_quotes(std::string_view value);
std::string in_words(const CsvColumn& column);

}  // namespace xxl
