// xxl sort, and the commands that are a sort with some options set. Determines the kind of records,
// and calls the sort of that kind.
#include <algorithm>
#include <clocale>
#include <optional>

#include "base/error.h"
#include "cli/input_format.h"
#include "cli/manual.h"
#include "record/group_selection.h"
#include "sort/columns_shared.h"
#include "sort/line_arguments.h"
#include "sort/sort_shared.h"

namespace xxl::cli {
namespace {

constexpr std::string_view kTopRecords = "10";

// The operation of union, intersect and except.
std::optional<GroupRule> set_rule(const ParsedOptions& options) {
  const std::string_view command = options.command().name;
  const bool all = options.has("all");
  if (command == "union") return all ? GroupRule::all : GroupRule::first;
  if (command == "intersect") return all ? GroupRule::intersect_all : GroupRule::intersect;
  if (command == "except") return all ? GroupRule::except_all : GroupRule::except;
  return std::nullopt;
}

// Sets the options of sort that the command stands for.
void set_implied(ParsedOptions& options) {
  const std::string_view command = options.command().name;
  if (command == "uniq" && !options.has("count")) options.set("unique", "");
  if (options.has("repeated") && options.has("once")) {
    throw_usage(options.command(), "--repeated and --once exclude each other");
  }
  if (command == "merge") options.set("merge", "");
  if (command == "check") options.set("check", options.has("quiet") ? "quiet" : "diagnose-first");
  const auto is_by = [](const Argument& given) {  // what names groups in xxl group
    return given.string_key == "key" && given.original_tokens.front().starts_with("--by");
  };
  const auto by = std::ranges::count_if(options.arguments(), is_by);
  if (command == "top" && by != 0 && by != std::ssize(options.values("key"))) {
    throw_usage(options.command(), "--by is --key here: for the first of each group say --per");
  }
  if (command == "top" && !options.has("limit")) options.set("limit", std::string(kTopRecords));
  if (command == "top" && !options.has("least")) options.set("reverse", "");
}

// A key of lines with letters of its own is not reversed by --reverse.
void reverse_keys(LineOrder& order) {
  for (LineKeyField& key : order.fields) key.flags.reverse |= key.flags != LineKeyFlags{};
}

void check_set_inputs(const ParsedOptions& options, const std::vector<std::string>& inputs) {
  if (inputs.size() < 2) throw_usage(options.command(), "give two inputs or more");
  if (std::ranges::count(inputs, "-") > 1) {
    throw_usage(options.command(), "standard input can be read only once: '-' was given again");
  }
}

int run_set(const Caller& caller, const ParsedOptions& options, GroupRule rule, SortSpec spec) {
  check_set_inputs(options, spec.inputs);
  spec.set_rule = rule;
  return run_sort_job(caller, options, spec);
}

}  // namespace

int run_sort(const CommandSpec& command, const Caller& caller,
             std::span<const std::string> arguments) {
  ParsedOptions options(command, caller, arguments, sort_grammar());
  if (command.name != "sort") options.throw_mistake();
  resolve_format(caller, options);
  if (!options.asks_for_text()) set_implied(options);
  const std::optional<GroupRule> rule = set_rule(options);
  const std::string record = options.value("format", "lines");
  if (record == "lines") {
    std::setlocale(LC_ALL, "");  // in which lines compare, and messages quote
    LineArguments lines = parse_line_arguments(caller, options);
    if (command.name == "top" && options.has("reverse")) reverse_keys(lines.order);
    if (rule && !options.asks_for_text()) {
      return run_set(caller, options, *rule, line_sort_spec(caller, lines));
    }
    return sort_lines(caller, lines);
  }
  options.throw_mistake();
  if (print_if_asked(options, caller)) return kExitSuccess;
  if (is_columns(record)) {
    if (!overlap(command.records, Scope::columns)) {
      throw_usage(command,
                  "Parquet and Arrow files can be sorted and joined, but this is not "
                  "built for them yet");
    }
    return sort_columns(caller, options);
  }
  const TextKind kind = text_kind(record);
  refuse_options_of_others(options, scope_of(kind));
  if (rule) return run_set(caller, options, *rule, sort_spec(caller, options));
  const Check check = check_option(options);
  keep_order_option(options);  // its contradictions are told before mistakes in folds
  if (kind == TextKind::none) format_option(options, "", options.has("reverse"));
  const SortSpec spec = sort_spec(caller, options);
  return check != Check::none ? run_check(caller, spec, check)
                              : run_sort_job(caller, options, spec);
}

}  // namespace xxl::cli
