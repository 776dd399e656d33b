// xxl join of text: lines, and rows of CSV and TSV.
#include <utility>

#include "base/error.h"
#include "cli/devices.h"
#include "engine/files/line_join.h"
#include "engine/files/row_join.h"
#include "engine/files/text_kind.h"
#include "engine/join/text_join.h"
#include "join/join_shared.h"
#include "record/csv_order.h"
#include "record/line_order.h"
#include "sort/sort_shared.h"

namespace xxl::cli {
namespace {

// -1, -2 and -j, or --key and its kin.
void refuse_both_kinds_of_keys(const JoinArguments& arguments, std::size_t side) {
  if (!arguments.fields[side] || key_specs(arguments.options, side).empty()) return;
  throw_usage(arguments.options.command(), "-1, -2 and -j exclude --key, --key1 and --key2");
}

JoinShape shape_option(const JoinArguments& arguments, JoinKind kind) {
  const ParsedOptions& options = arguments.options;
  const bool has_letters = options.has("-a") || options.has("-v");
  if (has_letters && options.has("how")) {
    throw_usage(options.command(), "--how excludes -a and -v");
  }
  return has_letters ? arguments.shape : shape_of(kind);
}

// Of reports.
std::string shape_text(const JoinArguments& arguments) {
  const ParsedOptions& options = arguments.options;
  if (!options.has("-a") && !options.has("-v")) return options.word("how", "inner");
  const JoinShape& shape = arguments.shape;
  for (const auto& [name, other] :
       {std::pair{"left", JoinKind::left}, std::pair{"right", JoinKind::right},
        std::pair{"full", JoinKind::full}}) {
    if (shape == shape_of(other)) return name;
  }
  if (shape.unmatched_r && shape.unmatched_s) return "unmatched of R and S";
  return shape.unmatched_r ? "unmatched of R" : "unmatched of S";
}

bool empty_keys_match(const ParsedOptions& options) {
  return options.word("empty-keys", "equal") == "equal";
}

bool takes_records_of_r(const JoinShape& shape, const ParsedOptions& options) {
  return options.has("how") && !shape.pairs;
}

// Lines

std::vector<std::size_t> key_fields(const JoinArguments& arguments, std::size_t side) {
  refuse_both_kinds_of_keys(arguments, side);
  std::vector<std::size_t> fields;
  for (const std::string& spec : key_specs(arguments.options, side)) {
    fields.push_back(parse_line_field(spec));
  }
  if (fields.empty()) fields.push_back(arguments.fields[side].value_or(0));
  return fields;
}

void set_lines(const JoinArguments& arguments, TextJoinOptions& join) {
  const bool as_they_are = takes_records_of_r(join.shape, arguments.options);
  if (as_they_are && (!arguments.row.empty() || arguments.auto_row || arguments.filler)) {
    throw_usage(arguments.options.command(),
                "rows of semi and anti joins are lines of R as they are: -o and -e have no effect");
  }
  join.syntax.terminator = arguments.terminator;
  xxl::set_lines({.syntax = arguments.syntax,
                  .key_fields = {key_fields(arguments, 0), key_fields(arguments, 1)},
                  .row = arguments.row,
                  .auto_row = arguments.auto_row,
                  .filler = arguments.filler,
                  .ignore_case = arguments.ignore_case,
                  .empty_keys_match = empty_keys_match(arguments.options),
                  .records_of_r = as_they_are},
                 join);
}

// Rows

CsvOrder csv_order(const JoinArguments& arguments, std::size_t side) {
  const ParsedOptions& options = arguments.options;
  refuse_both_kinds_of_keys(arguments, side);
  CsvOrder order;
  order.fields = fields_of_rows(options.value("record", ""), arguments.syntax.separator,
                                options.word("quote", "double") == "double");
  for (const std::string& spec : key_specs(options, side)) {
    order.keys.push_back(parse_csv_key(spec));
  }
  if (order.keys.empty()) {
    CsvKey key;
    key.column.index = arguments.fields[side].value_or(0);
    order.keys.push_back(key);
  }
  return order;
}

std::array<std::string, kJoinSides> suffixes_option(const ParsedOptions& options) {
  if (options.has("suffixes") && !options.has("header")) {
    throw_usage(options.command(), "--suffixes is for names of columns: it requires --header");
  }
  const std::string text = options.value("suffixes", "_1,_2");
  const std::size_t comma = text.find(',');
  if (comma == text.npos || text.find(',', comma + 1) != text.npos) {
    throw_usage(options.command(), "--suffixes=" + text + ": give two, as in --suffixes=_1,_2");
  }
  if (text.substr(0, comma) == text.substr(comma + 1)) {
    throw_usage(options.command(), "--suffixes=" + text + " do not tell the columns apart");
  }
  return {text.substr(0, comma), text.substr(comma + 1)};
}

void set_rows(const JoinArguments& arguments, TextJoinOptions& join) {
  const ParsedOptions& options = arguments.options;
  const bool as_they_are = takes_records_of_r(join.shape, options);
  if (as_they_are && (arguments.filler || options.has("suffixes"))) {
    throw_usage(options.command(),
                "rows of semi and anti joins are rows of R as they are: -e and --suffixes have no "
                "effect");
  }
  join.syntax.skip_malformed = options.word("malformed", "error") == "skip";
  xxl::set_rows({.orders = {csv_order(arguments, 0), csv_order(arguments, 1)},
                 .filler = arguments.filler.value_or(""),
                 .suffixes = suffixes_option(options),
                 .empty_keys_match = empty_keys_match(options),
                 .records_of_r = as_they_are},
                join);
}

void refuse_gpus(const ParsedOptions& options, const DeviceChoice& device) {
  if (device.acceleration != Acceleration::always) return;
  throw_usage(options.command(),
              "--device=" + options.value("device", "") + ": text is joined on the CPU");
}

void refuse_gpu_options(const ParsedOptions& options) {
  for (const char* option : {"gpu-memory", "multi-gpu"}) {
    if (options.has(option)) {
      throw_usage(options.command(), std::string("--") + option + ": text is joined on the CPU");
    }
  }
}

}  // namespace

void set_text_join(const JoinArguments& arguments, TextJoinOptions& join) {
  join.shape = shape_option(arguments, join.kind);
  join.syntax.header = arguments.options.has("header");
  join.record_kind = arguments.options.value("record", "lines");
  join.record_kind == "lines" ? set_lines(arguments, join) : set_rows(arguments, join);
}

int join_text(const Caller& caller, const JoinArguments& arguments) {
  const ParsedOptions& options = arguments.options;
  TextJoinOptions join;
  set_join_options(arguments, join);
  set_text_join(arguments, join);
  const std::string& record = join.record_kind;
  JobWatch watch(caller, options, join);
  refuse_gpu_options(options);
  refuse_gpus(options, device_option(options, join.time_line));
  const JoinSubject subject{.inputs = join.inputs,
                            .records = {record, record},
                            .kind = shape_text(arguments),
                            .output = join.count_only ? "" : join.output,
                            .scratch_dirs = join.scratch_dirs};
  const JoinRunner runner{[&] { return plan_text_join(join); }, [&] { return text_join(join); }};
  return run_join_reports(caller, arguments, join, subject, watch, runner);
}

}  // namespace xxl::cli
