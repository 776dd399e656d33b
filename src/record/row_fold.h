// What folds make of rows with equal keys: the first of them, with other values in some columns,
// and with columns behind it.
//
//     --sum=b --max=b:most --count, key in column a     a,b          a,b,most,count
//                                                       x,10
//                                                       x,2.5  becomes  x,12.5,10,2
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/csv_order.h"
#include "record/group_fold.h"
#include "record/json_members.h"

namespace xxl {

struct RowFoldOptions {
  FieldSyntax fields{};
  std::vector<CsvFold> folds{};      // of columns that have been found
  std::vector<std::string> nulls{};  // texts that count as empty
  bool count = false;                // append the number of rows, as the last column
  // If set, the row is the fields of these columns and those of `folds`, and nothing else.
  std::optional<std::vector<std::size_t>> keys_of_group{};
  std::vector<JsonMembers::Path> paths_of_keys{};  // of JSON, instead
  std::vector<std::string> names_of_group{};       // with a header: those of all columns then
  // Of the header, if there is one: rows with fewer are filled up before columns are appended.
  std::size_t header_columns = 0;
  // Of values that a fold holds; more are an error that names the key.
  std::size_t most_collected_bytes = ~std::size_t{0};
  std::size_t most_json_bytes = ~std::size_t{0};  // of a line
  bool keeps_malformed = false;  // what is not a number does not count; otherwise an error
  std::function<std::string(std::string_view row)> key_text{};
};

std::unique_ptr<GroupFold> make_row_fold(const RowFoldOptions& options);

// Of JSON, a group becomes an object of its keys and folds; otherwise, there may be `count` only,
// as one more member.
//
//     --by=a --sum=b     {"a":"x","b":10}  and  {"a":"x","b":2.5}  become  {"a":"x","sum(b)":12.5}

// The header of the rows that it makes of those with `header`.
std::string folded_header(std::string_view header, const RowFoldOptions& options);

}  // namespace xxl
