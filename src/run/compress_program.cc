#include "run/compress_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/no_pipe_signal.h"

extern char** environ;

namespace xxl {
namespace {

constexpr std::size_t kReadBytes = std::size_t{64} << 10;

std::string quoted(const std::string& program) {
  return "'" + program + "'";
}

class Descriptor {
 public:
  Descriptor() = default;
  // Takes ownership. Standard descriptors, free if xxl was started without them, are left to the
  // program that is run.
  explicit Descriptor(int fd) : fd_(fd) {
    if (fd_ < 0 || fd_ > STDERR_FILENO) return;
    fd_ = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    ::close(fd);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }

  int fd() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

struct Pipe {
  Descriptor read_end;
  Descriptor write_end;

  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw_io_error(errno, "cannot make a pipe", {});
    read_end = Descriptor(ends[0]);
    write_end = Descriptor(ends[1]);
  }
};

// A child process; killed and waited for unless wait() was called.
class Process {
 public:
  Process(const std::string& program, bool decompress, int in, int out) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    // Signals ignored or blocked here are reset there.
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGXFSZ);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    std::string name = program, option = "-d";
    const std::array<char*, 3> arguments{name.data(), decompress ? option.data() : nullptr,
                                         nullptr};
    const int error =
        posix_spawnp(&pid_, program.c_str(), &actions, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
      pid_ = -1;
      throw NoSuchProgram(ErrorCode::io, "could not run compress program " + quoted(program), {},
                          Error::kNoOffset, error);
    }
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    if (pid_ < 0) return;
    kill(pid_, SIGTERM);
    end();
  }

  // Returns the status as waitpid has it. Throws Error if there is none.
  int wait() {
    const std::optional<int> status = end();
    if (!status) throw_io_error(errno, "cannot wait for the compress program", {});
    return *status;
  }

 private:
  std::optional<int> end() {
    int status = 0;
    pid_t ended;
    while ((ended = waitpid(pid_, &status, 0)) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return ended < 0 ? std::nullopt : std::optional(status);
  }

  pid_t pid_ = -1;
};

}  // namespace

std::vector<std::byte> run_compress_program(const std::string& program, bool decompress,
                                            std::span<const std::byte> in, std::size_t most_bytes) {
  const NoPipeSignal no_signal;
  Pipe to, from;
  fcntl(to.write_end.fd(), F_SETFL, O_NONBLOCK);
  Process process(program, decompress, to.read_end.fd(), from.write_end.fd());
  to.read_end.close();
  from.write_end.close();
  std::vector<std::byte> out;
  std::size_t made = 0;
  bool refused = false;  // the program does not take all of its input
  for (;;) {
    if (in.empty()) to.write_end.close();
    std::array<pollfd, 2> ends{pollfd{from.read_end.fd(), POLLIN, 0},
                               pollfd{to.write_end.fd(), POLLOUT, 0}};  // -1 is skipped
    if (poll(ends.data(), ends.size(), -1) < 0 && errno != EINTR) {
      throw_io_error(errno, "cannot wait for " + quoted(program), {});
    }
    if (ends[1].revents != 0) {
      const ssize_t taken = write(to.write_end.fd(), in.data(), in.size());
      if (taken >= 0) {
        in = in.subspan(static_cast<std::size_t>(taken));
      } else if (errno == EPIPE) {
        refused = true;
        in = {};
      } else if (errno != EAGAIN && errno != EINTR) {
        throw_io_error(errno, "cannot write to " + quoted(program), {});
      }
    }
    if (ends[0].revents != 0) {
      out.resize(std::max(out.size(), made + kReadBytes));
      const ssize_t got = read(from.read_end.fd(), out.data() + made, out.size() - made);
      if (got == 0) break;
      if (got < 0 && errno != EINTR) {
        throw_io_error(errno, "cannot read from " + quoted(program), {});
      }
      made += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
      if (made > most_bytes) {
        throw Error(ErrorCode::corrupt,
                    quoted(program) +
                        (decompress ? " -d does not give back" : " makes too much of") +
                        " what it was given");
      }
    }
  }
  to.write_end.close();
  from.read_end.close();
  if (process.wait() != 0) {
    throw Error(ErrorCode::io, quoted(program) + " [-d] terminated abnormally");
  }
  if (refused || !in.empty()) {
    throw Error(ErrorCode::io, quoted(program) + (decompress ? " [-d]" : "") +
                                   " ended before it had read all of its input");
  }
  out.resize(made);
  return out;
}

}  // namespace xxl
