// xxl sort of columns: --record=parquet and --record=arrow.
#include "base/error.h"
#include "sort/columns_shared.h"
#include "sort/sort_shared.h"

namespace xxl::cli {
namespace {

// That of --part-by comes first.
std::vector<ColumnKeyOption> key_options(const ParsedOptions& options) {
  std::vector<ColumnKeyOption> keys;
  if (options.has("part-by")) {
    keys.push_back(parse_column_key(options.value("part-by", ""), options.has("reverse")));
  }
  for (const std::string& spec : options.values("key")) {
    keys.push_back(parse_column_key(spec, options.has("reverse")));
  }
  if (keys.empty()) {
    throw_usage(options.command(),
                "columns need a --key: the name or number of the column to sort by");
  }
  return keys;
}

std::string describe(const std::vector<column_key>& keys) {
  std::string text;
  for (const column_key& key : keys) {
    if (!text.empty()) text.append(", ");
    text.append(key.column);
    if (key.descending) text.append(" descending");
    if (key.nulls_first) text.append(", nulls first");
  }
  return text;
}

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

int sort_columns(const Caller& caller, const ParsedOptions& options) {
  refuse_options_of_others(options, Scope::columns);
  const std::vector<ColumnKeyOption> keys = key_options(options);
  column_sort_options sort;
  sort.unique = options.has("unique");
  const ResultRange range = range_option(options);
  sort.skip = range.skip;
  sort.limit = range.limit;
  ColumnsJob job(caller, options, false);
  ColumnSource& source = job.open(input_files(options));
  for (const ColumnKeyOption& key : keys) {
    sort.by.push_back({.column = resolve_column(key.column, source.column_names(), ""),
                       .descending = key.descending,
                       .nulls_first = key.nulls_first});
  }
  leave_out_row_groups(source, sort, range);
  sort.in_memory = true;  // its batches are part of what the module takes
  sort.progress = job.progress();
  job.plan().by = describe(sort.by);
  job.plan().skip = sort.skip;
  job.plan().limit = sort.limit;

  ColumnsJob::Result result{.has_all_rows = !sort.unique && !sort.skip && !sort.limit};
  result.rows_written = [&](std::uint64_t rows_read) { return range.written_of(rows_read); };
  if (options.has("part-by")) result.part_by = sort.by.front().column;
  for (const column_key& key : sort.by) {
    result.sorted_by.push_back({key.column.c_str(), key.descending, key.nulls_first});
  }
  return job.run(result, [&](auto& in, ArrowArrayStream* out, const resources& shared) {
    xxl::sort_columns(&in.front(), out, sort, shared);
  });
}

}  // namespace xxl::cli
