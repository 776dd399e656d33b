// xxl set: one sort of all inputs, which keeps of equal records what the operation says
// (docs/internals/set.md).
#include <algorithm>
#include <clocale>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/command.h"
#include "record/group_selection.h"
#include "sort/columns_shared.h"
#include "sort/line_arguments.h"
#include "sort/sort_shared.h"

namespace xxl::cli {
namespace {

GroupRule rule_of(const std::string& verb, const ParsedOptions& options) {
  const bool all = options.has("all");
  if (verb == "union") return all ? GroupRule::all : GroupRule::first;
  if (verb == "intersect") return all ? GroupRule::intersect_all : GroupRule::intersect;
  if (verb == "except") return all ? GroupRule::except_all : GroupRule::except;
  throw_usage(options.command(),
              (verb.empty() ? "no operation given" : "'" + verb + "' is not an operation") +
                  std::string(": use union, intersect or except"));
}

void check_inputs(const ParsedOptions& options, const std::vector<std::string>& inputs) {
  if (inputs.size() < 2) throw_usage(options.command(), "give two inputs or more");
  if (std::ranges::count(inputs, "-") > 1) {
    throw_usage(options.command(), "standard input is there once: '-' was given again");
  }
}

}  // namespace

int run_set(const Caller& caller, ParsedOptions options) {
  const GroupRule rule = rule_of(options.take_operand(), options);
  const std::string record = options.value("record", "lines");
  if (is_columns(record)) {
    throw_usage(
        options.command(),
        "set is for lines, rows of CSV and TSV and binary records, not for --record=" + record);
  }
  SortSpec spec;
  if (record == "lines") {
    std::setlocale(LC_ALL, "");  // in which lines compare
    spec = line_sort_spec(caller, parse_line_arguments(caller, options));
  } else {
    refuse_options_of_others(options, scope_of(text_kind(record)));
    spec = sort_spec(caller, options);
  }
  check_inputs(options, spec.inputs);
  spec.set_rule = rule;
  return run_sort_job(caller, options, spec);
}

}  // namespace xxl::cli
