// A sort of rows of CSV and TSV, as a general sort.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "job/general_sort/general_sort_options.h"
#include "job/row_faults.h"
#include "record/csv_keys.h"
#include "record/csv_order.h"
#include "record/record_rules.h"

namespace xxl {

struct RowSort {
  CsvOrder order;
  bool count = false;  // the number of rows of a key, as one more column
  std::vector<CsvKey>
      per{};             // of groups by these, the first rows, as many as the limit of the sort
  bool reverse = false;  // the direction of the key of parts, if that does not say
  RejectOptions rejects{};
};

// The use of rows: they are moved unchanged, folded, or joined field by field.
enum class RowUse { moved, folded, joined };

// The fate of a row with this fault; nothing if there is none.
std::optional<RecordFault> fault_of(std::optional<CsvFault> fault, MalformedRows malformed,
                                    RowUse use);

// Sets what a job with these inputs, whose output is known, does with malformed rows. Throws
// Error{usage}.
void set_malformed(const JobOptions& job, std::span<const std::string> inputs,
                   MalformedRows malformed, const RejectOptions& given, RecordSyntax& syntax,
                   RejectOptions& rejects);

// Completes `sort`, of which the inputs, memory and syntax.header are set. If something is counted
// or folded, there is one row for each key. Throws Error{usage}.
void set_rows(const RowSort& rows, GeneralSortOptions& sort);

// What rows of `order` are in the files of a job; the memory of the job is set.
void set_row_syntax(const CsvOrder& order, const JobOptions& job, RecordSyntax& syntax);

// Throws Error{usage} where columns are called by names that no header tells.
void check_names_of_columns(const CsvOrder& order, bool header);

// The name of a column, that of `header` if it was given by its number; without either its number.
std::string name_of_column(const CsvColumn& column, std::string_view header = {},
                           FieldSyntax syntax = {});
// The key of parts by the first column of the key of `order`, which is called `column`.
PartKey key_of_parts(const std::string& column, const CsvOrder& order);

}  // namespace xxl
