// xxl join of columns: --record=parquet and --record=arrow.
#include "base/error.h"
#include "job/files/row_join.h"
#include "join/join_kind.h"
#include "join/join_shared.h"
#include "record/csv_spec.h"
#include "sort/columns_shared.h"
#include "sort/sort_shared.h"

namespace xxl::cli {
namespace {

constexpr const char* kSideNames[] = {"the left side", "the right side"};
constexpr const char* kNoHashInParts =
    "parts are ranges of keys, and a hash join gives rows in no order of keys: leave out "
    "--method=hash";

std::vector<CsvKey> keys_of(const JoinArguments& arguments, std::size_t side) {
  std::vector<CsvKey> keys =
      parse_csv_keys(key_specs(arguments, side), false, ColumnTypes::of_columns);
  for (const CsvKey& key : keys) {
    if (!key.descending && !key.empty_last && !key.to_last) continue;
    throw_usage(arguments.options.command(),
                "keys of a join of Parquet or Arrow files are columns alone: no order, and no "
                "range without its last column");
  }
  return keys;
}

// The names of the columns that a side is joined by.
std::vector<std::string> key_columns(const JoinArguments& arguments, std::size_t side,
                                     const ColumnSource& source) {
  const std::vector<std::string>& names = source.column_names();
  std::vector<std::string> columns;
  for (const CsvKey& key :
       resolve_places(keys_of(arguments, side), names.size(), kSideNames[side])) {
    columns.push_back(resolve_column(key.column, names, kSideNames[side]));
  }
  return columns;
}

// --suffixes=,S
std::string suffix_option(const ParsedOptions& options, const std::string& fallback) {
  if (!options.has("suffixes")) return fallback;
  const std::string value = options.value("suffixes", "");
  if (!value.starts_with(',') || value.size() == 1) {
    throw_usage(
        options.command(),
        "for Parquet and Arrow, --suffixes begins with a comma, as in ',_right': columns of "
        "the left side keep their names");
  }
  return value.substr(1);
}

std::string describe(const column_join_options& join, const std::string& how) {
  std::string text;
  for (std::size_t i = 0; i < join.left_on.size(); ++i) {
    if (!text.empty()) text.append(", ");
    text.append(join.left_on[i]);
    if (join.right_on[i] != join.left_on[i]) text.append(" = ").append(join.right_on[i]);
  }
  return text + " (" + how + ")";
}

const char* name_of(JoinMethod method) {
  return method == JoinMethod::sort_merge ? "sort-merge" : "hash";
}

// Others may have nulls among the keys, which come where the join puts them.
bool has_no_null_keys(JoinKind kind) {
  return kind == JoinKind::inner || kind == JoinKind::semi;
}

// Rows are in the order of the key.
void check_part_by(const ParsedOptions& options, const std::string& column,
                   const column_join_options& join) {
  if (column != join.left_on.front()) {
    throw_usage(options.command(), "--part-by=" + column +
                                       ": parts of a join are by the first column of the left key");
  }
  if (has_no_null_keys(join.how)) return;
  throw_usage(
      options.command(),
      "--part-by of a join of Parquet or Arrow needs --how=inner or semi: rows without a match may "
      "have no key");
}

}  // namespace

column_join_options column_join_option(const JoinArguments& arguments) {
  const ParsedOptions& options = arguments.options;
  check_numbers_of_keys(keys_of(arguments, 0).size(), keys_of(arguments, 1).size());
  check_inputs(arguments);
  column_join_options join;
  join.how = how_option(options);
  join.suffix = suffix_option(options, join.suffix);
  join.in_memory = true;  // as of sorts
  return join;
}

void set_key_columns(const JoinArguments& arguments, const ColumnSource& left,
                     const ColumnSource& right, column_join_options& join) {
  if (key_specs(arguments, 0).empty()) {
    throw Error(ErrorCode::usage, no_keys_message(left.column_names(), right.column_names()));
  }
  const std::size_t first = swaps_sides(arguments.options) ? 1 : 0;
  join.left_on = key_columns(arguments, first, left);
  join.right_on = key_columns(arguments, 1 - first, right);
}

std::vector<module_table::SortedBy> sorted_by(const column_join_options& join) {
  std::vector<module_table::SortedBy> by;
  if (!has_no_null_keys(join.how)) return by;
  for (const std::string& column : join.left_on) by.push_back({column.c_str(), 0, 0});
  return by;
}

int join_columns(const Caller& caller, const JoinArguments& arguments) {
  const ParsedOptions& options = arguments.options;
  column_join_options join = column_join_option(arguments);
  ColumnsJob job(caller, options, options.has("count"));
  const std::size_t first = swaps_sides(options) ? 1 : 0;
  job.plan().swapped = first == 1;
  const ColumnSource& left = job.open({arguments.files[first]});
  set_key_columns(arguments, left, job.open({arguments.files[1 - first]}), join);
  join.method = method_option(options);
  if (job.in_parts()) {
    if (join.method == JoinMethod::hash) throw_usage(options.command(), kNoHashInParts);
    join.method = JoinMethod::sort_merge;
  }
  JoinMethod used = JoinMethod::automatic;
  join.used_method = &used;
  job.plan().is_join = true;
  job.plan().by = describe(join, options.word("how", "inner"));
  job.plan().method = name_of(join.method);
  if (join.method != JoinMethod::sort_merge) {
    job.plan().because = "if the right side fits into half of the memory; otherwise sort-merge";
  }

  ColumnsJob::Result result;
  if (!job.part_by().empty()) {
    check_part_by(options, job.part_by(), join);
    result.part_by = job.part_by();
  }
  const auto watch = [&] {
    join.progress = job.progress();
    join.expected_rows = {job.expected_rows(0), job.expected_rows(1)};
    join.measurements = job.measurements();
    join.file_traffic = job.file_traffic();
  };
  result.counted = [&](auto& in, ArrowArrayStream* out, const resources& shared) {
    watch();
    column_join_options any_order = join;
    any_order.method = JoinMethod::automatic;
    xxl::join_columns(&in[0], &in[1], out, any_order, shared);
  };
  return job.run(result, [&](auto& in, ArrowArrayStream* out, const resources& shared) {
    watch();
    xxl::join_columns(&in[0], &in[1], out, join, shared);
    const bool does_not_fit =
        used == JoinMethod::sort_merge && join.method != JoinMethod::sort_merge;
    job.plan().method = name_of(used);
    job.plan().because =
        does_not_fit ? "the right side does not fit in memory, or the left one has dictionaries"
                     : "";
    if (used == JoinMethod::sort_merge) result.sorted_by = sorted_by(join);
  });
}

}  // namespace xxl::cli
