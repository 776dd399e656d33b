// --time-line: what was done when, as a file.
#pragma once

#include <string>

#include "base/time_line.h"

namespace xxl::cli {

class TimeLineFile {
 public:
  // Nothing is recorded if `path` is empty. Otherwise it is checked now, before the work: throws
  // Error{io} if there is such a file or it cannot be made, Error{usage} if it is also the output.
  TimeLineFile(const std::string& path, const std::string& output);

  // Null if nothing is recorded.
  TimeLine* time_line() { return path_.empty() ? nullptr : &time_line_; }
  // Writes the file: track, what, start and end in seconds, bytes moved (0: not known). Throws
  // Error{io}.
  void write();

 private:
  std::string path_;
  IntervalList time_line_;
};

}  // namespace xxl::cli
