// xxl sort of rows: --record=csv and --record=tsv.
#include <memory>

#include "base/error.h"
#include "base/units.h"
#include "cli/machine.h"
#include "record/csv_keys.h"
#include "record/line_order.h"
#include "sort/group_folds.h"
#include "sort/sort_shared.h"

namespace xxl::cli {
namespace {

constexpr unsigned kMaxBatchSize = 1u << 20;

// As in sort(1), a key with an order of its own is not affected by -r.
bool has_own_order(std::string_view key_spec) {
  return key_spec.ends_with(":desc") || key_spec.ends_with(":asc");
}

CsvOrder order_option(const ParsedOptions& options) {
  const CommandSpec& command = options.command();
  CsvOrder order;
  order.separator = options.value("record", "") == "tsv" ? '\t' : ',';
  if (options.has("field-separator")) {
    order.separator = row_separator(parse_line_separator(options.value("field-separator", "")));
  }
  for (const std::string& spec : options.values("key")) {
    CsvKey key = parse_csv_key(spec);
    if (options.has("reverse") && !has_own_order(spec)) key.descending = true;
    order.keys.push_back(key);
  }
  if (order.keys.empty() && options.has("reverse")) {
    throw_usage(command, "-r of rows needs a --key: the order of which column is to be reversed?");
  }
  order.empty_last = options.word("empty", "first") == "last";
  if (options.has("sum")) order.sum = parse_csv_column(options.value("sum", ""), "--sum");
  if (needs_header(order) && !options.has("header")) {
    throw_usage(command, "naming a column requires --header; by number: --key=2:number");
  }
  return order;
}

// The keys, once they are known: names of columns are looked up in a header.
struct Keys {
  CsvOrder order;
  std::shared_ptr<const CsvKeys> made;

  void make() { made = make_csv_keys(order); }
};

TextSortOptions text_options(const Caller& caller, const ParsedOptions& options) {
  TextSortOptions sort;
  set_text_options(caller, options, sort);
  const auto keys = std::make_shared<Keys>();
  keys->order = order_option(options);
  sort.inputs = input_files(options);
  sort.output = output_option(options);
  sort.syntax.quoted = true;
  sort.syntax.separator = keys->order.separator;
  sort.syntax.skip_malformed = options.word("malformed", "error") == "skip";
  if (sort.syntax.header) {
    sort.keys_of_header = [keys, path = sort.inputs.front()](std::string_view header) {
      resolve_columns(keys->order, header, path);
      keys->make();
      return keys->made;
    };
  } else {
    keys->make();
    sort.keys = keys->made;
  }
  sort.malformed = [keys](std::string_view row) { return keys->made->check(row); };
  if (options.has("count")) {
    sort.header_written = [keys](std::string_view header) {
      std::string row;
      append_row_with_column(header, keys->order.separator, "count", row);
      return row;
    };
  }
  if (options.has("count") || options.has("sum")) {
    sort.fold = [keys, count = options.has("count")] {
      const CsvOrder& order = keys->order;
      return make_row_fold({.separator = order.separator,
                            .count = count,
                            .sum = order.sum ? std::optional(order.sum->index) : std::nullopt});
    };
  }
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
