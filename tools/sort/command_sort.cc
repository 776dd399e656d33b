// xxl sort: determines the kind of records, and calls the sort of that kind.
#include <clocale>

#include "cli/manual.h"
#include "sort/columns_shared.h"
#include "sort/line_arguments.h"
#include "sort/sort_shared.h"

namespace xxl::cli {

int run_sort(const CommandSpec& command, const Caller& caller,
             std::span<const std::string> arguments) {
  const ParsedOptions options(command, caller, arguments, sort_grammar());
  const std::string record = options.value("record", "lines");
  if (record == "lines") {
    std::setlocale(LC_ALL, "");  // in which lines compare, and messages quote
    return sort_lines(caller, parse_line_arguments(caller, options));
  }
  options.throw_mistake();
  if (print_if_asked(options, caller)) return kExitSuccess;
  if (is_columns(record)) return sort_columns(caller, options);
  return record == "csv" || record == "tsv" ? sort_rows(caller, options)
                                            : sort_binary(caller, options);
}

}  // namespace xxl::cli
