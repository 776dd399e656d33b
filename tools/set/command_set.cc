// xxl set: one sort of all inputs, which keeps of equal records what the operation says
// (docs/set.md).
#include <algorithm>
#include <clocale>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/command.h"
#include "engine/files/text_kind.h"
#include "engine/inputs.h"
#include "record/group_selection.h"
#include "record/key_text.h"
#include "record/record_format.h"
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

bool is_union(GroupRule rule) {
  return rule == GroupRule::all || rule == GroupRule::first;
}

// In the order in which they are to be read: but for a union, the first one last.
void order_inputs(const ParsedOptions& options, GroupRule rule, std::vector<std::string>& inputs) {
  if (inputs.size() < 2) throw_usage(options.command(), "give two inputs or more");
  if (std::ranges::count(inputs, "-") > 1) {
    throw_usage(options.command(), "standard input is there once: '-' was given again");
  }
  if (!is_union(rule)) std::ranges::rotate(inputs, inputs.begin() + 1);
}

// Makes `sort`, whose inputs are in the order in which they are to be read, keep what `rule` says.
void keep(GroupRule rule, TextSortOptions& sort) {
  if (is_union(rule)) {
    sort.unique = rule == GroupRule::first;
    return;
  }
  sort.group_rule_of_inputs = rule;
  sort.tags.kind = RecordTags::Kind::input;
  std::vector<std::string> files;
  std::uint32_t number = 0;
  for (const std::string& input : sort.inputs) {
    const std::vector<std::string> parts = input_paths({input});
    files.insert(files.end(), parts.begin(), parts.end());
    sort.tags.inputs.insert(sort.tags.inputs.end(), parts.size(), number++);
  }
  sort.inputs = std::move(files);
}

// `subject`: of `sort`; reports have the inputs in the order in which they were given.
int run_text_set(const Caller& caller, const ParsedOptions& options, GroupRule rule,
                 TextSortOptions& sort, ReportSubject subject) {
  if (!is_union(rule)) std::ranges::rotate(subject.inputs, subject.inputs.end() - 1);
  keep(rule, sort);
  return run_text_sort(caller, options, sort, subject);
}

int run_lines(const Caller& caller, const ParsedOptions& options, GroupRule rule) {
  std::setlocale(LC_ALL, "");  // in which lines compare
  LineArguments arguments = parse_line_arguments(caller, options);
  order_inputs(options, rule, arguments.files);
  // Lines with equal keys are equal, unless all are written, in the order of a sort.
  if (rule != GroupRule::all) arguments.order.unique = true;
  TextSortOptions sort = line_sort_options(caller, arguments);
  if (sort.syntax.header) {  // then it is checked to be that of all inputs, as for rows
    sort.keys_of_header = [keys = sort.keys](std::string_view) { return keys; };
  }
  return run_text_set(caller, options, rule, sort, subject_of(sort));
}

int run_rows(const Caller& caller, const ParsedOptions& options, GroupRule rule) {
  refuse_options_of_others(options, Scope::rows);
  std::vector<std::string> inputs = input_files(options);
  order_inputs(options, rule, inputs);
  TextSortOptions sort = row_sort_options(caller, options, inputs);
  return run_text_set(caller, options, rule, sort, subject_of(sort));
}

// The key of a type, followed by what is left of the record.
void extend_to_record(RecordFormat& format) {
  KeyField& key = format.key.front();
  if (key.type == KeyType::bytes) {
    key.length = format.record_bytes;
  } else if (const std::size_t left = format.record_bytes - key.length; left > 0) {
    format.key.push_back({.offset = key.length, .length = left, .descending = key.descending});
  }
}

int run_records(const Caller& caller, const ParsedOptions& options, GroupRule rule) {
  refuse_options_of_others(options, Scope::all);
  SortOptions records = record_sort_options(caller, options);
  order_inputs(options, rule, records.inputs);
  if (!options.has("key")) {
    extend_to_record(records.format);
    records.key_text = key_text_of(records.format);
  }
  if (is_union(rule)) {
    records.unique = rule == GroupRule::first;
    return run_record_sort(caller, options, records);
  }
  TextSortOptions sort = text_sort_of(records);
  return run_text_set(caller, options, rule, sort, subject_of(records));
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
  switch (text_kind(record)) {
    case TextKind::lines:
      return run_lines(caller, options, rule);
    case TextKind::rows:
      return run_rows(caller, options, rule);
    case TextKind::none:
      break;
  }
  return run_records(caller, options, rule);
}

}  // namespace xxl::cli
