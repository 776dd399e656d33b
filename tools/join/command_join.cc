// xxl join: determines the kind of records, and calls the join of that kind.
#include <clocale>

#include "cli/manual.h"
#include "join/join_shared.h"
#include "sort/columns_shared.h"
#include "sort/sort_shared.h"

namespace xxl::cli {

int run_join(const CommandSpec& command, const Caller& caller,
             std::span<const std::string> arguments) {
  std::setlocale(LC_ALL, "");  // in which lines compare, and messages quote
  const JoinArguments parsed = parse_join_arguments(command, caller, arguments);
  const ParsedOptions& options = parsed.options;
  if (print_if_asked(options, caller)) return kExitSuccess;
  const std::string record = options.value("format", "lines");
  const bool binary = options.has("record1") || options.has("record2");
  if (record == "lines" && !(binary && !options.has("format"))) {
    refuse_options_of_others(options, Scope::lines);
    return join_files(caller, parsed, TextKind::lines);
  }
  std::setlocale(LC_ALL, "C");
  if (is_json(record))
    throw_usage(options.command(),
                "JSON lines cannot be joined yet: write them as CSV first, as jq can");
  if (record == "csv" || record == "tsv") {
    refuse_options_of_others(options, Scope::rows);
    return join_files(caller, parsed, TextKind::rows);
  }
  if (is_columns(record) && !binary) {
    refuse_options_of_others(options, Scope::columns);
    return join_columns(caller, parsed);
  }
  refuse_options_of_others(options, Scope::binary);
  return join_files(caller, parsed, TextKind::none);
}

}  // namespace xxl::cli
