// What tables are joined by, and the columns of the rows that come of it.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "columns/column_type.h"
#include "columns/key_bytes.h"
#include "columns/row_format.h"
#include "columns/shared_dictionaries.h"
#include "xxl/columns.h"

namespace xxl {

// Columns that are joined by, of both sides in the same form.
struct JoinKeys {
  std::array<std::vector<KeyColumn>, kJoinSides> sides;
  std::vector<ColumnType> types;  // of the values in the output, with the left column's name
};

// Throws Error{usage} for columns that are not there, cannot be compared, or too few.
JoinKeys join_keys(const ColumnType& left, const ColumnType& right,
                   const column_join_options& options);

// The columns of the output.
struct JoinedColumns {
  // `right_format`: of the rows of the right table.
  JoinedColumns(const ColumnType& left, const ColumnType& right, const JoinKeys& keys,
                const RowFormat& right_format, JoinKind kind, const std::string& suffix,
                SharedDictionaries left_dictionaries, SharedDictionaries right_dictionaries);

  ColumnType type;
  SharedDictionaries dictionaries;                          // of `type`
  bool has_s;                                               // there are columns of the right table
  std::vector<std::size_t> keys;                            // the column of each key
  std::array<std::vector<std::size_t>, kJoinSides> values;  // likewise of the fields of each side

 private:
  void add_left(const ColumnType& left, const JoinKeys& keys);
  void add_right(const ColumnType& right, const RowFormat& format, const std::string& suffix);
};

}  // namespace xxl
