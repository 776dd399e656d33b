// The program xxl: finds the command and runs it; the one place where errors become exit statuses.
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "base/error.h"
#include "command.h"
#include "completions.h"
#include "manual.h"
#include "version.h"

namespace xxl::cli {
namespace {

struct Entry {
  std::string_view name;
  int (*run)(const ParsedOptions& options);
};

constexpr Entry kEntries[] = {
    {"sort", run_sort},          // sort files
    {"gen", run_gen},            // make test data
    {"validate", run_validate},  // check and sum up a file
    {"probe", run_probe},        // measure disks
    {"info", run_info},          // describe the program and the machine
    {"help", run_help},
};

[[noreturn]] void throw_usage(const std::string& message) {
  throw Error(ErrorCode::usage, message + " (try 'xxl --help')");
}

const CommandSpec& require_command(const std::string& name) {
  const CommandSpec* command = find_command(name);
  if (command != nullptr) return *command;
  if (name == "join") throw_usage("join is not built yet");
  throw_usage("unknown command '" + name + "'");
}

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return kExitSuccess;
}

// What is asked of the program itself: --help, --version, and what only the build asks for, --man
// and --completions.
int run_program_option(const std::string& option, const std::vector<std::string>& operands) {
  if (option == "--help" && operands.empty()) return print(help_text());
  if (option == "--version" && operands.empty()) {
    return print("xxl " + std::string(kVersion) + "\n");
  }
  if (option == "--man" && operands.empty()) return print(manual_page());
  if (option == "--man") return print(manual_page(require_command(operands.front())));
  if (option == "--completions" && operands.size() == 1) {
    return print(completions(operands.front()));
  }
  throw_usage("unrecognised option '" + option + "'");
}

int run_command(const std::string& name, const std::vector<std::string>& arguments) {
  const CommandSpec& command = require_command(name);
  const ParsedOptions options = parse_options(command, arguments);
  if (options.has("help")) return print(help_text(command));
  for (const Entry& entry : kEntries) {
    if (entry.name == name) return entry.run(options);
  }
  check_failed("every command of the table has an entry", __FILE__, __LINE__);
}

int dispatch(const std::string& called_as, const std::vector<std::string>& arguments) {
  if (called_as == "sort" || called_as == "join") {
    throw_usage("called as '" + called_as + "': to stand in for " + called_as +
                "(1) is not built yet");
  }
  if (arguments.empty()) throw_usage("say what to do: one of the commands, such as sort");
  const std::string& first = arguments.front();
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  return first.starts_with("-") ? run_program_option(first, rest) : run_command(first, rest);
}

// What was printed has arrived, or it is an error.
void flush_stdout() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw_io_error(errno, "cannot write", "standard output");
  }
}

// Writing to a pipe that nobody reads, or beyond the largest size of files (ulimit -f), is an error
// like any other, not a silent death.
void make_signals_errors() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

// All inputs are open at once, and there may be more of them than the usual soft limit.
void raise_limit_of_open_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);  // if it fails, opening the file too many will say so
}

}  // namespace
}  // namespace xxl::cli

int main(int argc, char** argv) {
  using namespace xxl::cli;
  make_signals_errors();
  raise_limit_of_open_files();
  const std::string called_as = std::filesystem::path(argc > 0 ? argv[0] : "xxl").filename();
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  std::string prefix = "xxl: ";
  try {
    if (!arguments.empty() && find_command(arguments.front()) != nullptr) {
      prefix += arguments.front() + ": ";
    }
    const int status = dispatch(called_as, arguments);
    flush_stdout();
    return status;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s%s\n", prefix.c_str(), error.what());
    return kExitError;
  }
}
