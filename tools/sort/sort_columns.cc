// xxl sort of columns: --record=parquet and --record=arrow.
#include "base/error.h"
#include "sort/columns_shared.h"
#include "sort/sort_shared.h"

namespace xxl::cli {
namespace {

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

}  // namespace

int sort_columns(const Caller& caller, const ParsedOptions& options) {
  refuse_options_of_others(options, Scope::columns);
  const std::vector<CsvKey> keys = column_key_options(options);
  const ResultRange range = range_option(options);
  ColumnsJob job(caller, options, false);
  ColumnSource& source = job.open(input_files(options));
  column_sort_options sort = column_sort_option(options, keys, source);
  job.plan().by = describe(sort.by);
  job.plan().skip = sort.skip;
  job.plan().limit = sort.limit;

  ColumnsJob::Result result{.has_all_rows = !sort.unique && !sort.skip && !sort.limit};
  result.rows_written = [&](std::uint64_t rows_read) { return range.written_of(rows_read); };
  if (options.has("part-by")) result.part_by = sort.by.front().column;
  result.sorted_by = sorted_by(sort);
  return job.run(result, [&](auto& in, ArrowArrayStream* out, const resources& shared) {
    sort.progress = job.progress();
    sort.expected_rows = job.expected_rows(0);
    sort.measurements = job.measurements();
    sort.file_traffic = job.file_traffic();
    xxl::sort_columns(&in.front(), out, sort, shared);
  });
}

}  // namespace xxl::cli
