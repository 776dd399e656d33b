// The stand-in for join(1).
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/quote.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/manual.h"
#include "job/general_sort/line_stream.h"
#include "job/job_defaults.h"
#include "join/join_arguments.h"

namespace xxl::cli {
namespace {

constexpr std::size_t kOutputBytes = 64 * kKiB;
// Default memory for groups of equal keys; what does not fit goes to scratch.
constexpr std::uint64_t kGroupPart = 8;
constexpr std::uint64_t kLeastGroupBytes = kMiB;
constexpr std::uint64_t kMostGroupBytes = kGiB;

// Standard output, written a buffer at a time.
class StandardOutput {
 public:
  void append(std::string_view row, char terminator) {
    buffer_.append(row).push_back(terminator);
    if (buffer_.size() >= kOutputBytes) flush();
  }
  void flush() {
    const std::string bytes = std::move(buffer_);
    buffer_.clear();
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t written = write(STDOUT_FILENO, bytes.data() + done, bytes.size() - done);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw Error(ErrorCode::io, "write error", {}, Error::kNoOffset, errno);
      done += static_cast<std::size_t>(written);
    }
  }

 private:
  std::string buffer_;
};

LineStream open_lines(const Caller& caller, const std::string& file, char terminator) {
  if (file == "-") return LineStream(STDIN_FILENO, file, terminator);
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    throw CommandLineError(quote_name(file) + ": " + std::strerror(errno), caller.error_status);
  }
  return LineStream(fd, file, terminator);
}

// GNU join appends the last errno of the C library: in a locale with a name, that it has no message
// catalogue.
[[noreturn]] void fail_for_two_standard_inputs(const Caller& caller) {
  const std::string_view locale = std::setlocale(LC_MESSAGES, nullptr);
  const bool is_c = locale == "C" || locale == "POSIX";
  throw CommandLineError("both files cannot be standard input" +
                             (is_c ? std::string() : ": " + std::string(std::strerror(ENOENT))),
                         caller.error_status);
}

PlainJoinOptions plain_options(const JoinArguments& arguments) {
  PlainJoinOptions join;
  join.names = {arguments.files[0], arguments.files[1]};
  join.shape = arguments.shape;
  for (std::size_t side = 0; side < kJoinSides; ++side) {
    join.key_fields[side] = parse_line_field(arguments.fields[side].value_or("1"));
  }
  join.ignore_case = arguments.lines.ignore_case;
  join.watch = arguments.watch;
  join.header = arguments.options.has("header");
  join.counts_fields = arguments.lines.auto_row;
  join.format.syntax = arguments.lines.syntax;
  join.format.fields = arguments.lines.row;
  join.format.filler = arguments.lines.filler;
  return join;
}

int join_plainly(const Caller& caller, const JoinArguments& arguments) {
  const auto& files = arguments.files;
  LineStream r = open_lines(caller, files[0], arguments.terminator);
  if (files[0] == "-" && files[1] == "-") fail_for_two_standard_inputs(caller);
  LineStream s = open_lines(caller, files[1], arguments.terminator);

  const std::uint64_t bytes =
      std::clamp(default_memory_bytes() / kGroupPart, kLeastGroupBytes, kMostGroupBytes);
  const MemoryRegion memory(round_down<std::size_t>(bytes, 4 * kSectorBytes));
  const std::size_t half = memory.size() / 2;
  GroupStore group_r(memory.span().first(half), default_scratch_dir());
  GroupStore group_s(memory.span().subspan(half), default_scratch_dir());

  StandardOutput output;
  const PlainJoinOptions options = plain_options(arguments);
  PlainJoin join(
      options, r, s, group_r, group_s,
      [&](std::string_view row) { output.append(row, arguments.terminator); },
      [&](const std::string& message) {
        output.flush();
        std::fprintf(stderr, "%s%s\n", caller.prefix.c_str(), message.c_str());
      });
  bool ordered;
  try {
    ordered = join.run();
  } catch (const Error&) {
    output.flush();
    throw;
  }
  output.flush();
  if (ordered) return kExitSuccess;
  throw CommandLineError("input is not in sorted order", caller.error_status);
}

}  // namespace

int run_stand_in_join(const Caller& caller, std::span<const std::string> arguments) {
  std::setlocale(LC_ALL, "");
  static const CommandSpec command = stand_in_join_command();
  const JoinArguments parsed = parse_join_arguments(command, caller, arguments);
  return print_if_asked(parsed.options, caller) ? kExitSuccess : join_plainly(caller, parsed);
}

}  // namespace xxl::cli
