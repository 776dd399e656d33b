// What rows are sorted or joined by: columns, their types and directions, as the user says them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xxl {

enum class CsvType { text, number, integer, date };

// A column by its place, or by its name in the header.
struct CsvColumn {
  static constexpr std::size_t kByName = ~std::size_t{0};
  std::size_t index = kByName;  // from 0; kByName until resolve_columns has found it
  std::string name;             // empty: given by its number
  bool operator==(const CsvColumn&) const = default;
};

struct CsvKey {
  CsvColumn column;
  CsvType type = CsvType::text;
  bool descending = false;
  bool operator==(const CsvKey&) const = default;
};

// What rows are sorted by.
struct CsvOrder {
  char separator = ',';
  std::vector<CsvKey> keys;  // none: all columns as text, from the first to the last
  bool empty_last = false;   // empty fields come last, also of a descending key; otherwise first
  std::optional<CsvColumn> sum;  // a column that must be a number (or empty) in every row
};

// COLUMN: a number from 1, or a name; "NAME" (quotes doubled inside) where a name is all digits or
// has a ':'. Throws Error{usage} naming `option`.
CsvColumn parse_csv_column(std::string_view spec, std::string_view option);
// COLUMN[:TYPE][:desc|:asc], TYPE one of text, number, integer, date. `descending`: without a
// direction. Throws Error{usage}.
CsvKey parse_csv_key(std::string_view spec, bool descending = false);

// True if there are columns given by name.
bool needs_header(const CsvOrder& order);
// Finds the columns that are given by name in `header`, the first row of the file `path`. Throws
// Error{usage} if a name is not there, or there more than once, and Error{bad_input} if the row is
// malformed.
void resolve_columns(CsvOrder& order, std::string_view header, std::string_view path);

// For messages: "'the start of a value...'" on one line, "column 2 (name)".
std::string in_quotes(std::string_view value);
std::string in_words(const CsvColumn& column);

}  // namespace xxl
