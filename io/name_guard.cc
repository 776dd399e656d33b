#include "io/name_guard.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace xxl::io {
namespace {

// What goes through the pipe: written at once, so that messages of threads do not mix.
struct Message {
  char what;  // '+' or '-'
  std::array<char, 1023> path;
};
static_assert(sizeof(Message) <= PIPE_BUF);

constexpr std::size_t kMostNames = 16;

bool read_message(int pipe, Message& message) {
  auto* to = reinterpret_cast<char*>(&message);
  for (std::size_t got = 0; got < sizeof message;) {
    const ssize_t bytes = read(pipe, to + got, sizeof message - got);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return false;
    got += static_cast<std::size_t>(bytes);
  }
  return true;
}

// The process, which was forked: no memory is allocated.
[[noreturn]] void guard(int pipe, void (*remove)(const char* path)) {
  setsid();  // whoever ends the processes of a group or a terminal does not end this one
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  prctl(PR_SET_NAME, "xxl-guard");
  // Nobody waits for its output, no directory is kept busy by it.
  const int nowhere = open("/dev/null", O_RDWR);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, fd);
  dup2(pipe, STDERR_FILENO + 1);
  close_range(STDERR_FILENO + 2, ~0U, 0);
  pipe = STDERR_FILENO + 1;
  [[maybe_unused]] const int ignored = chdir("/");
  std::array<Message, kMostNames> names{};
  for (Message message; read_message(pipe, message);) {
    for (Message& name : names) {
      const bool is_free = name.what == 0;
      if (message.what == '+' && is_free) {
        name = message;
        break;
      }
      if (message.what == '-' && !is_free &&
          std::strcmp(name.path.data(), message.path.data()) == 0) {
        name.what = 0;
        break;
      }
    }
  }
  for (const Message& name : names) {
    if (name.what != 0) remove(name.path.data());
  }
  _exit(0);
}

}  // namespace

NameGuard::NameGuard(void (*remove)(const char* path)) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  const pid_t child = fork();
  if (child == 0) guard(ends[0], remove);
  close(ends[0]);
  if (child > 0) {
    pipe_ = ends[1];
  } else {
    close(ends[1]);
  }
}

void NameGuard::tell(char what, const std::string& path) const {
  Message message{};
  if (pipe_ < 0 || path.size() >= message.path.size()) return;
  message.what = what;
  std::memcpy(message.path.data(), path.c_str(), path.size() + 1);
  while (write(pipe_, &message, sizeof message) < 0 && errno == EINTR) {
  }
}

}  // namespace xxl::io
