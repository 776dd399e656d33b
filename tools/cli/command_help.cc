// xxl help [COMMAND].
#include <cstdio>

#include "cli/command.h"
#include "cli/manual.h"

namespace xxl::cli {

int run_help(const ParsedOptions& options) {
  if (options.operands().empty()) {
    std::fputs(help_text().c_str(), stdout);
    return kExitSuccess;
  }
  if (options.operands().size() > 1) {
    throw_usage(options.command(), "extra operand '" + options.operands()[1] + "'");
  }
  const CommandSpec* command = find_command(options.operands().front());
  if (command == nullptr) {
    throw_usage(options.command(), "unknown command '" + options.operands().front() + "'");
  }
  std::fputs(help_text(*command, "xxl " + std::string(command->name)).c_str(), stdout);
  return kExitSuccess;
}

}  // namespace xxl::cli
