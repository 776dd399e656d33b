// Runs a program and waits for it, within a limit of real time.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace xxl::campaign {

struct Invocation {
  std::string program;                 // path
  std::vector<std::string> arguments;  // without the name of the program
  std::vector<std::string> environment;
  std::string directory;  // where it runs
  // Standard input: a pipe with these bytes (no more than kPipeBytes), or a file, or nothing.
  std::optional<std::string> piped;
  std::string input_file = "/dev/null";
  bool output_through_pipe = false;  // not more than kPipeBytes; otherwise a file
  std::chrono::seconds limit{60};
};

// What a pipe takes without a reader.
inline constexpr std::size_t kPipeBytes = std::size_t{1} << 20;

struct Ended {
  int status = 0;  // of an exit
  int signal = 0;  // that ended it; 0: none did
  bool timed_out = false;
  std::string output;
  std::string error;
};

// Everything in it is the same each time but for the machine's own doing: pipes are filled before
// the start and read after the end. Throws std::system_error.
Ended run(const Invocation& invocation);

// Programs started from now on have their code and stacks at the same addresses each time.
void fix_addresses();
// Those started by this thread run on this processor.
void pin_to_processor(unsigned processor);

}  // namespace xxl::campaign
