#include "process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <system_error>
#include <utility>

namespace xxl::campaign {
namespace {

[[noreturn]] void fail(const char* what, int error = errno) {
  throw std::system_error(error, std::generic_category(), what);
}

// A file descriptor that is closed in the end.
class Descriptor {
 public:
  explicit Descriptor(int fd, const char* what) : fd_(fd) {
    if (fd < 0) fail(what);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() { close(); }

  int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

struct Pipe {
  Descriptor read;
  Descriptor write;
};

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail("pipe");
  Pipe made{Descriptor(ends[0], "pipe"), Descriptor(ends[1], "pipe")};
  if (fcntl(ends[1], F_SETPIPE_SZ, static_cast<int>(kPipeBytes)) < 0) fail("F_SETPIPE_SZ");
  return made;
}

Descriptor memory_file(const char* name) {
  return Descriptor(memfd_create(name, MFD_CLOEXEC), "memfd_create");
}

std::string read_all(int fd) {
  std::string bytes;
  char buffer[1 << 16];
  ssize_t got;
  while ((got = read(fd, buffer, sizeof buffer)) > 0) bytes.append(buffer, std::size_t(got));
  return bytes;
}

std::string read_from_start(const Descriptor& file) {
  lseek(file.get(), 0, SEEK_SET);
  return read_all(file.get());
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

// posix_spawn's lists, which have to be destroyed.
struct SpawnLists {
  SpawnLists() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  SpawnLists(const SpawnLists&) = delete;
  SpawnLists& operator=(const SpawnLists&) = delete;
  ~SpawnLists() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

// In a process group of its own, which ends with it.
pid_t spawn(const Invocation& invocation, int input, int output, int error) {
  SpawnLists lists;
  posix_spawn_file_actions_addchdir_np(&lists.actions, invocation.directory.c_str());
  posix_spawn_file_actions_adddup2(&lists.actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&lists.actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&lists.actions, error, STDERR_FILENO);
  posix_spawnattr_setflags(&lists.attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  std::vector<std::string> arguments{invocation.program};
  arguments.insert(arguments.end(), invocation.arguments.begin(), invocation.arguments.end());
  std::vector<std::string> environment = invocation.environment;
  pid_t process = 0;
  if (const int failed =
          posix_spawn(&process, invocation.program.c_str(), &lists.actions, &lists.attributes,
                      pointers_to(arguments).data(), pointers_to(environment).data())) {
    fail(invocation.program.c_str(), failed);
  }
  return process;
}

// Fills in how it ended.
void wait_for(pid_t process, std::chrono::milliseconds limit, Ended& ended) {
  const Descriptor watched(static_cast<int>(syscall(SYS_pidfd_open, process, 0)), "pidfd_open");
  pollfd ready{watched.get(), POLLIN, 0};
  ended.timed_out = poll(&ready, 1, static_cast<int>(limit.count())) == 0;
  if (ended.timed_out) kill(-process, SIGKILL);
  int status = 0;
  if (waitpid(process, &status, 0) != process) fail("waitpid");
  if (WIFSIGNALED(status))
    ended.signal = WTERMSIG(status);
  else
    ended.status = WEXITSTATUS(status);
}

}  // namespace

Ended run(const Invocation& invocation) {
  Pipe input_pipe = make_pipe();
  if (invocation.piped) {
    const std::string& bytes = *invocation.piped;
    if (write(input_pipe.write.get(), bytes.data(), bytes.size()) != ssize_t(bytes.size())) {
      fail("write to a pipe");
    }
  }
  input_pipe.write.close();
  const std::string path = invocation.input_file.starts_with('/')
                               ? invocation.input_file
                               : invocation.directory + '/' + invocation.input_file;
  Descriptor input_file(open(path.c_str(), O_RDONLY | O_CLOEXEC), path.c_str());
  Pipe output_pipe = make_pipe();
  const Descriptor output_file = memory_file("output");
  const Descriptor error = memory_file("error");
  const pid_t process = spawn(
      invocation, invocation.piped ? input_pipe.read.get() : input_file.get(),
      invocation.output_through_pipe ? output_pipe.write.get() : output_file.get(), error.get());
  output_pipe.write.close();
  Ended ended;
  wait_for(process, invocation.limit, ended);
  ended.output = invocation.output_through_pipe ? read_all(output_pipe.read.get())
                                                : read_from_start(output_file);
  ended.error = read_from_start(error);
  return ended;
}

void fix_addresses() {
  const int now = personality(0xffffffff);
  if (now < 0 || personality(static_cast<unsigned>(now) | ADDR_NO_RANDOMIZE) < 0) {
    fail("personality");
  }
}

void pin_to_processor(unsigned processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) fail("sched_setaffinity");
}

}  // namespace xxl::campaign
