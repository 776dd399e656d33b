// The program xxl: finds the command and runs it; the one place where errors become exit statuses.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/quote.h"
#include "base/similar.h"
#include "cli/command.h"
#include "cli/completions.h"
#include "cli/help.h"
#include "cli/manual.h"
#include "cli/process.h"
#include "sort/sort_shared.h"

namespace xxl::cli {
namespace {

// "unknown command 'srt': did you mean 'sort'?", or the commands.
std::string unknown_command(const std::string& name) {
  std::vector<std::string_view> names;
  for (const CommandSpec& command : commands()) names.push_back(command.name);
  std::string meant = did_you_mean(name, names);
  if (meant.empty()) {
    meant = ": the commands are";
    for (const std::string_view command : names) meant.append(" ").append(command);
  }
  return "unknown command '" + name + "'" + meant;
}

[[noreturn]] void throw_usage(const std::string& message) {
  throw Error(ErrorCode::usage, message + " (try 'xxl --help')");
}

const CommandSpec& require_command(const std::string& name) {
  const CommandSpec* command = find_command(name);
  if (command != nullptr) return *command;
  throw Error(ErrorCode::usage, unknown_command(name));
}

// True if the program was called by a link named `command`.
bool stands_in_for(const std::string& program, std::string_view command) {
  return std::filesystem::path(program).filename() == command;
}

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return kExitSuccess;
}

// xxl help [COMMAND [TOPIC]]. A topic may be an option as it is typed, with dashes.
int run_help(const ParsedOptions& options, std::span<const std::string> operands) {
  if (operands.empty()) return print(short_help());
  if (operands.size() > 2) throw_usage(options.command(), "extra operand '" + operands[2] + "'");
  const CommandSpec* command = find_command(operands.front());
  if (command == nullptr) throw_usage(options.command(), unknown_command(operands.front()));
  if (operands.size() == 2) return print(topic_help(*command, operands[1]));
  return print(long_help(*command, "xxl " + std::string(command->name)));
}

// Options of the program itself: --help, --version, and for the build only, --man and
// --completions.
int run_program_option(const std::string& option, std::span<const std::string> operands) {
  const bool is_alone = operands.empty();
  if (is_alone && (option == "--help" || option == "-h")) return print(short_help());
  if (is_alone && (option == "--version" || option == "-V")) return print(version_text({}));
  if (option == "--man" && operands.empty()) return print(manual_page());
  if (option == "--man") return print(manual_page(require_command(operands.front())));
  if (option == "--completions" && operands.size() == 1) {
    return print(completions(operands.front()));
  }
  throw_usage("unrecognized option '" + option + "'");
}

bool is_sort(std::string_view name) {
  return name == "sort" ||
         std::ranges::any_of(sort_like_commands(),
                             [&](const CommandSpec& command) { return command.name == name; });
}

// -h alone asks for help, unless `xxl sort` may have input to read: there it is a way to compare. A
// command without arguments needs help if it would read what is typed.
bool needs_short_help(const CommandSpec& command, std::span<const std::string> arguments) {
  const bool types = isatty(STDIN_FILENO) == 1;
  if (arguments.size() == 1 && arguments.front() == "-h") return types || command.name != "sort";
  const bool reads = !command.operands.empty() && !command.operands_are_directories;
  return arguments.empty() && types && reads && command.name != "help";
}

int run_command(const Caller& caller, const std::string& name,
                std::span<const std::string> arguments) {
  const CommandSpec& command = require_command(name);
  if (!caller.stands_in && needs_short_help(command, arguments)) {
    const bool is_asked = !arguments.empty();
    std::fputs(short_help(command).c_str(), is_asked ? stdout : stderr);
    return is_asked ? kExitSuccess : kExitError;
  }
  if (is_sort(name)) return run_sort(command, caller, arguments);
  if (name == "join") return run_join(command, caller, arguments);
  const bool has_topic = name == "help" && arguments.size() == 2 && !arguments[0].starts_with('-');
  const ParsedOptions options(command, caller, has_topic ? arguments.first(1) : arguments);
  options.throw_mistake();
  if (print_if_asked(options, caller)) return kExitSuccess;
  if (name == "group") return run_group(caller, options);
  if (name == "shuf") return run_shuf(caller, options);
  if (name == "gen") return run_gen(options);
  if (name == "validate") return run_validate(options);
  if (name == "probe") return run_probe(options);
  return name == "info" ? run_info(options)
                        : run_help(options, has_topic ? arguments : options.operands());
}

// How the program was called: through a link named sort, join or valsort, or as xxl with a command.
Caller make_caller(const std::string& program, std::span<const std::string> arguments) {
  for (const auto& [name, error_status] :
       {std::pair{"sort", kExitError}, std::pair{"join", kExitJoinError},
        std::pair{"valsort", kExitValsortError}}) {
    if (!stands_in_for(program, name)) continue;
    return {.command = program,
            .prefix = program + ": ",
            .stands_in = true,
            .error_status = error_status};
  }
  if (!arguments.empty() && find_command(arguments.front()) != nullptr) {
    return {.command = "xxl " + arguments.front(), .prefix = "xxl: " + arguments.front() + ": "};
  }
  return {.command = "xxl", .prefix = "xxl: "};
}

int dispatch(const Caller& caller, std::span<const std::string> arguments) {
  if (stands_in_for(caller.command, "sort")) return run_command(caller, "sort", arguments);
  if (stands_in_for(caller.command, "valsort")) return run_stand_in_valsort(arguments);
  if (caller.stands_in) return run_stand_in_join(caller, arguments);
  if (arguments.empty()) {
    std::fputs(short_help().c_str(), stderr);
    return kExitError;
  }
  const std::string& first = arguments.front();
  const std::span<const std::string> rest = arguments.subspan(1);
  return first.starts_with("-") ? run_program_option(first, rest)
                                : run_command(caller, first, rest);
}

// Checks that what was printed has arrived.
void flush_stdout(const Caller& caller) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  if (!caller.stands_in) throw_io_error(errno, Operation::write, "standard output");
  throw_io_error(errno, "write error", {});
}

// What was closed is a device now (prepare_process()), which cannot be read.
bool is_of_closed_input(const Error& error) {
  struct stat status;
  return error.path() == "-" && error.sys_errno() == EBADF && fstat(STDIN_FILENO, &status) == 0 &&
         S_ISCHR(status.st_mode);
}

}  // namespace
}  // namespace xxl::cli

int main(int argc, char** argv) {
  using namespace xxl::cli;
  const bool broken_pipe_kills = prepare_process();
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  Caller caller = make_caller(argc > 0 ? argv[0] : "xxl", arguments);
  caller.broken_pipe_kills = broken_pipe_kills;
  caller.arguments = arguments;
  int status = caller.error_status;
  std::string message;
  try {
    const int done = dispatch(caller, arguments);
    flush_stdout(caller);
    // A message that could not be written is an error as well.
    return std::ferror(stderr) == 0 ? done : status;
  } catch (const CommandLineError& error) {
    status = error.status();
    message = error.what();
  } catch (const xxl::Error& error) {
    die_of_broken_pipe(caller, error);
    message = !caller.stands_in && is_of_closed_input(error)
                  ? "standard input is closed: give a file, or a pipe"
                  : error.what();
  } catch (const std::bad_alloc&) {
    message = kOutOfMemory;
  } catch (const std::exception& error) {
    message = error.what();
  }
  if (!caller.stands_in) message = xxl::escape_controls(message, "\n\t");
  std::fprintf(stderr, "%s%s\n", caller.prefix.c_str(), message.c_str());
  return status;
}
