// xxl group: one row for each group of rows.
#include "base/error.h"
#include "cli/input_format.h"
#include "cli/manual.h"
#include "cli/option_scope.h"
#include "sort/columns_shared.h"
#include "sort/sort_shared.h"

namespace xxl::cli {

int run_group(const Caller& caller, ParsedOptions options) {
  resolve_format(caller, options);
  const std::string record = options.value("format", "lines");
  if (text_kind(record) == TextKind::lines) {
    throw_usage(options.command(),
                "works on CSV and TSV files: add --csv or --tsv (xxl uniq --count counts "
                "equal lines)");
  }
  if (is_columns(record)) {
    throw_usage(options.command(), "works on CSV and TSV, not on Parquet and Arrow yet");
  }
  if (text_kind(record) == TextKind::none) {
    throw_usage(options.command(),
                "works on CSV and TSV; for binary records there is xxl sort --sum, --count, ...");
  }
  refuse_options_of_others(options, scope_of(TextKind::rows));
  const SortSpec spec = sort_spec(caller, options);
  if (spec.keys.empty() && spec.aggregates.empty()) {
    throw_usage(options.command(),
                "say what to group by (--by=COLUMNS), or what to sum up (--count, --sum=COLUMN, "
                "...)");
  }
  return run_sort_job(caller, options, spec);
}

}  // namespace xxl::cli
