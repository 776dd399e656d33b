// A temporary name of a file or a directory, before it gets its own.
#pragma once

#include <string>

namespace xxl::io {

// A random name in an open directory; what has it is removed with the object, and by signals that
// end the program: a file, or a directory and the files in it.
class TempName {
 public:
  // `directory`: a descriptor that must stay open as long as this.
  explicit TempName(int directory);
  ~TempName();
  TempName(const TempName&) = delete;
  TempName& operator=(const TempName&) = delete;

  const char* text() const { return text_.c_str(); }
  // Removes what has the name, which then is let go. Returns 0 or an errno value: something
  // remains.
  int remove();
  // The name now belongs to another file: nothing is removed.
  void let_go();

 private:
  void forget();

  int directory_;
  std::string text_;
  std::string path_;  // that a guard knows; empty: none
  int slot_;          // of those that signal handlers know; -1: none was free
};

// From now on such names are removed even if the process is killed by SIGKILL (NameGuard): for a
// process whose parent ends it so. Call before any thread is made, once.
void guard_temp_names();

// Removes what has such a name in an open directory, if it is this user's, a day old and not
// locked: what its processes left when they were killed. For everything that may make such names
// there.
void remove_left_over(int directory);

// Locks an open file, so that it is not taken for a leftover while it has such a name. False if
// another has it locked.
bool lock_temp_file(int fd);

// Removes all files that have a TempName at this moment. Async-signal-safe: a program with handlers
// of its own for such signals calls it there. If it has none when such a name is made, a handler is
// installed that calls it and lets the signal end the program.
void remove_temp_names();

}  // namespace xxl::io
