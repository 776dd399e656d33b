#include "cli/process.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "base/memory_name.h"
#include "cli/command.h"
#include "io/temp_name.h"

namespace xxl::cli {
namespace {

// A missing standard descriptor is opened so that it cannot be used: otherwise the first file
// opened would take its place.
void fill_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    // Both get the lowest descriptor that is free.
    if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0 && open("/", O_PATH) < 0) {
      _exit(kExitError);
    }
  }
}

// Writing to a pipe without a reader, or beyond the limit of file sizes (ulimit -f), is an error
// like any other, not a silent end. Child processes can be waited for. Returns whether SIGPIPE had
// its default action, which the parent process may have changed.
bool make_signals_errors() {
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);
  return std::signal(SIGPIPE, SIG_IGN) == SIG_DFL;
}

// More open files allow more to be merged at once.
void raise_limit_of_open_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);  // if it fails, fewer are merged at once
}

// On a thread of the library nothing would catch a failed allocation.
[[noreturn]] void end_without_memory() {
  try {
    if (std::current_exception() != nullptr) throw;
  } catch (const std::bad_alloc&) {
    io::remove_temp_names();
    std::fprintf(stderr, "xxl: %s\n", kOutOfMemory);
    std::_Exit(kExitError);
  } catch (...) {
  }
  std::abort();
}

// Each thread would reserve 64 MiB of addresses for small objects: in total more than is left
// beside -S where addresses are limited (ulimit -v).
void share_small_memory() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    mallopt(M_ARENA_MAX, 1);
  }
}

}  // namespace

bool prepare_process() {
  set_memory_name(MemoryName::option);
  fill_standard_descriptors();
  const bool broken_pipe_kills = make_signals_errors();
  raise_limit_of_open_files();
  share_small_memory();
  std::set_terminate(end_without_memory);
  return broken_pipe_kills;
}

}  // namespace xxl::cli
