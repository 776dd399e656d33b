// A process of its own that removes names when this one has ended, in whatever way.
//
// Signals that a process can handle remove its temporary names (temp_name.h); SIGKILL, by which
// some programs that start others end these, is noticed only from outside: the guard waits at the
// other end of a pipe, which the kernel closes then.
#pragma once

#include <string>

namespace xxl::io {

class NameGuard {
 public:
  // Starts the process. Call before any thread is made. `remove` removes a file, or a directory
  // with files in it, and may do only what a signal handler may. Where no process can be made,
  // nothing is guarded.
  explicit NameGuard(void (*remove)(const char* path));
  NameGuard(const NameGuard&) = delete;
  NameGuard& operator=(const NameGuard&) = delete;

  // `path`, absolute, is removed at the end, unless it is dropped before. A few at a time; a path
  // that is too long is not guarded. From any thread.
  void add(const std::string& path) const { tell('+', path); }
  void drop(const std::string& path) const { tell('-', path); }

 private:
  void tell(char what, const std::string& path) const;

  int pipe_ = -1;
};

}  // namespace xxl::io
