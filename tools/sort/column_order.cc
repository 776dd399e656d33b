#include "sort/column_order.h"

#include <string>

#include "job/result_range.h"
#include "sort/sort_shared.h"

namespace xxl::cli {
namespace {

// Of sorted rows, those with a limit can often be known to lie in some row groups.
void leave_out_row_groups(ColumnSource& source, const column_sort_options& sort,
                          const ResultRange& range) {
  if (!range.limit || sort.unique) return;
  const column_key& first = sort.by.front();
  source.leave_out({.limit = *range.needed(),
                    .column = first.column.c_str(),
                    .descending = first.descending,
                    .nulls_first = first.nulls_first});
}

}  // namespace

std::vector<ColumnKeyOption> column_key_options(const ParsedOptions& options) {
  const bool descending = options.has("reverse");
  std::vector<ColumnKeyOption> keys;
  if (options.given("part-by")) {
    keys.push_back(parse_column_key(options.value("part-by", ""), descending));
  }
  for (const std::string& spec : options.values("key")) {
    keys.push_back(parse_column_key(spec, descending));
  }
  if (keys.empty()) {
    throw_usage(options.command(),
                "columns need a --key: the name or number of the column to sort by");
  }
  return keys;
}

column_sort_options column_sort_option(const ParsedOptions& options,
                                       const std::vector<ColumnKeyOption>& keys,
                                       ColumnSource& source) {
  column_sort_options sort;
  for (const ColumnKeyOption& key : keys) {
    sort.by.push_back({.column = resolve_column(key.column, source.column_names(), ""),
                       .descending = key.descending,
                       .nulls_first = key.nulls_first});
  }
  const ResultRange range = range_option(options);
  sort.skip = range.skip;
  sort.limit = range.limit;
  sort.unique = options.has("unique");
  sort.in_memory = true;  // its batches are part of what the module takes
  leave_out_row_groups(source, sort, range);
  return sort;
}

std::vector<module_table::SortedBy> sorted_by(const column_sort_options& sort) {
  std::vector<module_table::SortedBy> by;
  for (const column_key& key : sort.by) {
    by.push_back({key.column.c_str(), key.descending, key.nulls_first});
  }
  return by;
}

}  // namespace xxl::cli
