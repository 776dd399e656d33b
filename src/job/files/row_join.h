// A join of rows of CSV and TSV, as a general join.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "job/join/general_join_options.h"
#include "record/csv_order.h"

namespace xxl {

struct RowJoin {
  std::array<CsvOrder, kJoinSides> orders;  // keys of the same types and directions
  std::string filler;                       // in the fields of a side that has no row
  std::array<std::string, kJoinSides> suffixes = {"_1", "_2"};  // of names that both sides have
  bool empty_keys_match = true;                                 // otherwise like NULL in SQL
  RejectOptions rejects{};
  bool records_of_r = false;  // rows are rows of R as they are (semi and anti joins)
  bool cross = false;         // all pairs: there are no keys
};

// The message for a join of rows without keys, with columns to join by. `left` and `right` are the
// names of the columns; empty if they are not known.
std::string no_keys_message(const std::vector<std::string>& left,
                            const std::vector<std::string>& right);

// Completes `join`, of which the inputs, the shape and syntax.header are set. Throws Error{usage}.
void set_rows(const RowJoin& rows, GeneralJoinOptions& join);

}  // namespace xxl
