// What a sort of columns is asked to do with its rows: keys, and which of them are wanted.
#pragma once

#include <vector>

#include "cli/parse_options.h"
#include "columns/files/column_source.h"
#include "columns/files/module_table.h"
#include "sort/columns_shared.h"
#include "xxl/columns.h"

namespace xxl::cli {

// --part-by, --key and --reverse; there is one at least. Throws Error{usage}.
std::vector<ColumnKeyOption> column_key_options(const ParsedOptions& options);
// These keys, -u, --skip and --limit, of the columns of `source`, of which row groups are left out
// that have none of the rows. Throws Error.
column_sort_options column_sort_option(const ParsedOptions& options,
                                       const std::vector<ColumnKeyOption>& keys,
                                       ColumnSource& source);
// What the rows are in the order of: names are those of `sort`.
std::vector<module_table::SortedBy> sorted_by(const column_sort_options& sort);

}  // namespace xxl::cli
