// xxl sort: finds out what is sorted. The three kinds of records take it from there.
#include <clocale>
#include <cstdio>

#include "cli/manual.h"
#include "sort/sort_shared.h"

namespace xxl::cli {
namespace {

// The value of --record. A mistake in the command line ends the search: sorting of lines will meet
// it again, and complain about it in its turn.
std::string record_option(const CommandSpec& command, const Caller& caller,
                          std::span<const std::string> arguments) {
  std::string record = "lines";
  try {
    OptionScanner scanner(command, caller, arguments);
    while (const std::optional<GivenOption> given = scanner.next()) {
      if (given->spec != nullptr && given->spec->long_name == "record") record = given->value;
    }
  } catch (const CommandLineError&) {
  }
  return record;
}

}  // namespace

int run_sort(const CommandSpec& command, const Caller& caller,
             std::span<const std::string> arguments) {
  const std::string record = record_option(command, caller, arguments);
  if (record == "lines") {
    std::setlocale(LC_ALL, "");
    return sort_lines(command, caller, arguments);
  }
  const ParsedOptions options = parse_options(command, caller, arguments);
  if (options.has("help")) {
    std::fputs(help_text(command, caller.command).c_str(), stdout);
    return kExitSuccess;
  }
  if (options.has("version")) {
    std::fputs(version_text(caller).c_str(), stdout);
    return kExitSuccess;
  }
  return record == "csv" || record == "tsv" ? sort_rows(caller, options)
                                            : sort_binary(caller, options);
}

}  // namespace xxl::cli
