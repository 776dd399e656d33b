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
  const TextKind kind = text_kind(record);
  refuse_options_of_others(options, scope_of(kind));
  const Check check = check_option(options);
  keep_order_option(options);  // its contradictions are told before mistakes in folds
  if (kind == TextKind::none) format_option(options, "", options.has("reverse"));
  const SortSpec spec = sort_spec(caller, options);
  return check != Check::none ? run_check(caller, spec, check)
                              : run_sort_job(caller, options, spec);
}

}  // namespace xxl::cli
