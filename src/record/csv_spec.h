// Columns, keys and folds as a user writes them: --key=amount:n:desc,name.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "record/csv_order.h"

namespace xxl {

// error, skip or keep, or by_default if it is empty; nothing if it is another word.
std::optional<MalformedRows> malformed_rows_named(std::string_view word);

// COLUMN alone. Throws Error{usage} naming `option`.
CsvColumn parse_csv_column(std::string_view spec, std::string_view option);
// The word of --key for a type.
std::string_view type_word(CsvType type);

// Whether keys name types (rows), columns have their own (Parquet, Arrow), or keys may name types,
// and columns are members of JSON.
enum class ColumnTypes { of_keys, of_columns, of_members };

// COLUMN is a number from 1, or from the last column back (-1), or a name; "NAME" (quotes doubled
// inside) where a name is a number or has a ':' (in a list: or a ','). TYPE is one of
//
//   text (t)   number (num, n, numeric, float)   integer (int, i)   date (d)   ci  natural  version
//
// Behind number and integer there may be a :FORMAT, an example that starts with a digit or a sign
// (number_format.h), behind date one that starts with a % (date_format.h). It ends at a ':' or, in
// a list, a ',', unless that belongs to the number or a % follows it; or it is in quotes.
//
// Lists of keys with commas between, each COLUMN, or FIRST-LAST or FIRST- for several, and words in
// any order: :TYPE, :asc, :desc, :nulls-first, :nulls-last. `descending`: without a direction.
//
// Of members, COLUMN is names with dots between (user.id), "NAME" for one that has dots, or a JSON
// pointer (/user/id).
//
// Throws Error{usage}.
std::vector<CsvKey> parse_csv_keys(std::span<const std::string> specs, bool descending = false,
                                   ColumnTypes types = ColumnTypes::of_keys);
// A key of one column.
CsvKey parse_csv_key(std::string_view spec, bool descending = false,
                     ColumnTypes types = ColumnTypes::of_keys);
// COLUMN[:NAME], of min, max and count-distinct COLUMN[:TYPE][:NAME] (without TYPE: number,
// of count-distinct text), of sums COLUMN[:number:FORMAT][:NAME], of count nothing; a NAME that is
// a TYPE, or looks like a FORMAT behind one, is in quotes. Throws Error{usage} naming the option of
// that name.
CsvFold parse_csv_fold(FoldKind kind, std::string_view spec,
                       ColumnTypes types = ColumnTypes::of_keys);

}  // namespace xxl
