// --time-line: what was done when, as a file.
#pragma once

#include <cstdio>
#include <string>

#include "base/time_line.h"

namespace xxl::cli {

class TimeLineFile {
 public:
  // Nothing is noted if `path` is empty. Otherwise the file is created now, so that what is wrong
  // with it is said before the work; throws Error{io} if it cannot be, or if it is there already.
  explicit TimeLineFile(const std::string& path);
  // Removes the file if it was not written.
  ~TimeLineFile();
  TimeLineFile(const TimeLineFile&) = delete;
  TimeLineFile& operator=(const TimeLineFile&) = delete;

  // Null if nothing is noted.
  TimeLine* time_line() { return file_ == nullptr ? nullptr : &time_line_; }
  // Writes the file: track, what, start and end in seconds, bytes moved (0: not known). Throws
  // Error{io}.
  void write();

 private:
  std::string path_;
  std::FILE* file_ = nullptr;
  TimeLine time_line_;
};

}  // namespace xxl::cli
