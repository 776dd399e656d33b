// A name that a file has for a while before it gets its own.
#pragma once

#include <string>

namespace xxl::io {

// Made up, in an open directory, and free in all likelihood; what has it is removed with the
// object, and by signals that end the program. Making one also removes what this user's processes
// left in the directory when they were killed, if it is a day old and not locked.
class TempName {
 public:
  // `directory`: a descriptor, open for as long as this lasts.
  explicit TempName(int directory);
  ~TempName();
  TempName(const TempName&) = delete;
  TempName& operator=(const TempName&) = delete;

  const char* text() const { return text_.c_str(); }
  // From now on another file's name: nothing is removed.
  void let_go();

 private:
  int directory_;
  std::string text_;
  int slot_;  // of those that signal handlers know; -1: none was free
};

// Locks an open file, so that it is not taken for left over while it has such a name. False if
// another has it locked.
bool lock_temp_file(int fd);

// Removes all files that have a TempName at this moment. Async-signal-safe: a program with handlers
// of its own for such signals calls it there. Where it has none when such a name is
// made, a handler that calls it and dies of the signal is installed.
void remove_temp_names();

}  // namespace xxl::io
