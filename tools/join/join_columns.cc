// xxl join of columns: --record=parquet and --record=arrow.
#include "base/error.h"
#include "join/join_kind.h"
#include "join/join_shared.h"
#include "sort/columns_shared.h"
#include "sort/sort_shared.h"

namespace xxl::cli {
namespace {

constexpr const char* kSideNames[] = {"R", "S"};
constexpr const char* kNoHashInParts =
    "parts are ranges of keys, and a hash join gives rows in no order of keys: leave out "
    "--method=hash";

// The names of the columns that a side is joined by.
std::vector<std::string> key_columns(const ParsedOptions& options, std::size_t side,
                                     const ColumnSource& source) {
  std::vector<std::string> columns;
  for (const std::string& spec : key_specs(options, side)) {
    columns.push_back(resolve_column(parse_csv_column(spec, side == 0 ? "--key1" : "--key2"),
                                     source.column_names(), kSideNames[side]));
  }
  return columns;
}

void check_keys(const ParsedOptions& options) {
  const std::size_t parts = key_specs(options, 0).size();
  if (parts == 0) {
    throw_usage(options.command(),
                "columns need a --key, or --key1 and --key2: the columns to join by");
  }
  if (parts != key_specs(options, 1).size()) {
    throw_usage(options.command(), "--key1 and --key2 are given in pairs");
  }
}

// --suffixes=,S
std::string suffix_option(const ParsedOptions& options, const std::string& fallback) {
  if (!options.has("suffixes")) return fallback;
  const std::string value = options.value("suffixes", "");
  if (!value.starts_with(',') || value.size() == 1) {
    throw_usage(options.command(),
                "--suffixes of columns begins with a comma, as in ',_right': columns of R keep "
                "their names");
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
                                       ": parts of a join are by the first column of the key of R");
  }
  if (has_no_null_keys(join.kind)) return;
  throw_usage(
      options.command(),
      "--part-by of a join of columns needs --how=inner or semi: rows without a partner may "
      "have no key, wherever they come");
}

}  // namespace

column_join_options column_join_option(const JoinArguments& arguments) {
  const ParsedOptions& options = arguments.options;
  check_keys(options);
  check_inputs(arguments);
  column_join_options join;
  join.kind = parse_join_kind(options.word("how", "inner"));
  join.suffix = suffix_option(options, join.suffix);
  join.in_memory = true;  // as of sorts
  return join;
}

void set_key_columns(const ParsedOptions& options, const ColumnSource& r, const ColumnSource& s,
                     column_join_options& join) {
  join.left_on = key_columns(options, 0, r);
  join.right_on = key_columns(options, 1, s);
}

std::vector<module_table::SortedBy> sorted_by(const column_join_options& join) {
  std::vector<module_table::SortedBy> by;
  if (!has_no_null_keys(join.kind)) return by;
  for (const std::string& column : join.left_on) by.push_back({column.c_str(), 0, 0});
  return by;
}

int join_columns(const Caller& caller, const JoinArguments& arguments) {
  const ParsedOptions& options = arguments.options;
  column_join_options join = column_join_option(arguments);
  ColumnsJob job(caller, options, options.has("count"));
  const ColumnSource& r = job.open({arguments.files[0]});
  set_key_columns(options, r, job.open({arguments.files[1]}), join);
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
    job.plan().because = "if S fits into half of what there is to sort; else sort-merge";
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
    job.plan().because = does_not_fit ? "S does not fit in memory, or R has dictionaries" : "";
    if (used == JoinMethod::sort_merge) result.sorted_by = sorted_by(join);
  });
}

}  // namespace xxl::cli
