// xxl sort of rows: --record=csv and --record=tsv.
#include "base/error.h"
#include "engine/files/row_sort.h"
#include "engine/files/text_kind.h"
#include "record/csv_order.h"
#include "record/line_order.h"
#include "sort/sort_shared.h"

namespace xxl::cli {

CsvOrder row_order_option(const ParsedOptions& options) {
  const CommandSpec& command = options.command();
  CsvOrder order;
  std::optional<FieldSeparator> separator;
  if (options.has("field-separator")) {
    separator = parse_separator(options.value("field-separator", ""));
  }
  order.fields = fields_of_rows(options.value("record", ""), separator,
                                options.word("quote", "double") == "double");
  for (const std::string& spec : options.values("key")) {
    order.keys.push_back(parse_csv_key(spec, options.has("reverse")));
  }
  if (order.keys.empty() && options.has("reverse") && !options.given("part-by")) {
    throw_usage(command, "-r of rows needs a --key: the order of which column is to be reversed?");
  }
  order.empty_last = options.word("empty", "first") == "last";
  order.invalid = *invalid_keys_named(options.word("invalid", "error"));
  for (const auto& [kind, field] : fold_options(options)) {
    order.folds.push_back(parse_csv_fold(kind, field));
  }
  return order;
}

TextSortOptions row_sort_options(const Caller& caller, const ParsedOptions& options,
                                 const std::vector<std::string>& inputs) {
  TextSortOptions sort;
  set_job_options(options, sort);
  set_text_options(caller, options, sort);
  sort.inputs = inputs;
  sort.record_kind = options.value("record", "");
  sort.syntax.skip_malformed = options.word("malformed", "error") == "skip";
  set_rows({.order = row_order_option(options),
            .count = options.given("count"),
            .reverse = options.given("reverse")},
           sort);
  return sort;
}

int sort_rows(const Caller& caller, const ParsedOptions& options) {
  refuse_options_of_others(options, Scope::rows);
  const Check check = check_option(options);
  keep_order_option(options);  // what it excludes is told before what is wrong with a fold
  TextSortOptions sort = row_sort_options(caller, options, input_files(options));
  if (check != Check::none) return run_text_check(caller, sort, check);
  return run_text_sort(caller, options, sort, subject_of(sort));
}

}  // namespace xxl::cli
