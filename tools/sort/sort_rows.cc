// xxl sort of rows: --record=csv and --record=tsv.
#include "base/error.h"
#include "base/units.h"
#include "engine/files/row_sort.h"
#include "engine/job_defaults.h"
#include "record/csv_order.h"
#include "record/line_order.h"
#include "sort/sort_shared.h"

namespace xxl::cli {
namespace {

constexpr unsigned kMaxBatchSize = 1u << 20;

CsvOrder order_option(const ParsedOptions& options) {
  const CommandSpec& command = options.command();
  CsvOrder order;
  order.separator = options.value("record", "") == "tsv" ? '\t' : ',';
  if (options.has("field-separator")) {
    order.separator = row_separator(parse_line_separator(options.value("field-separator", "")));
  }
  for (const std::string& spec : options.values("key")) {
    order.keys.push_back(parse_csv_key(spec, options.has("reverse")));
  }
  if (order.keys.empty() && options.has("reverse")) {
    throw_usage(command, "-r of rows needs a --key: the order of which column is to be reversed?");
  }
  order.empty_last = options.word("empty", "first") == "last";
  if (options.has("sum")) order.sum = parse_csv_column(options.value("sum", ""), "--sum");
  return order;
}

TextSortOptions text_options(const Caller& caller, const ParsedOptions& options) {
  TextSortOptions sort;
  set_text_options(caller, options, sort);
  sort.inputs = input_files(options);
  sort.output = output_option(options);
  sort.syntax.skip_malformed = options.word("malformed", "error") == "skip";
  set_rows({.order = order_option(options), .count = options.has("count")}, sort);
  sort.memory_bytes = options.has("buffer-size") ? parse_size(options.value("buffer-size", ""),
                                                              "-S", usable_memory_bytes())
                                                 : default_memory_bytes();
  sort.parallel = parallel_option(options);
  sort.batch_size = static_cast<unsigned>(options.number("batch-size", 0, 2, kMaxBatchSize));
  return sort;
}

}  // namespace

int sort_rows(const Caller& caller, const ParsedOptions& options) {
  refuse_options_of_others(options, Scope::rows);
  const Check check = check_option(options);
  TextSortOptions sort = text_options(caller, options);
  if (check != Check::none) {
    if (sort.fold) throw_usage(options.command(), "-c excludes --count and --sum");
    return run_text_check(caller, sort, check);
  }
  return run_text_sort(caller, options, sort,
                       {.inputs = sort.inputs,
                        .output = sort.output,
                        .scratch_dirs = sort.scratch_dirs,
                        .record = options.value("record", ""),
                        .record_details = "of any length"});
}

}  // namespace xxl::cli
