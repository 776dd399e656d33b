// The progress line of a sort: one line on the terminal, rewritten a few times a second.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/thread.h"
#include "xxl/job.h"

namespace xxl::cli {

// "forming runs", "merging, pass 1 of 2".
std::string phase_name(const Progress& progress);

// Shows `progress` on standard error from construction to destruction, on a thread of its own (not
// at all if there is none); the destructor erases the line. `progress` belongs to the caller and
// must outlive the line.
class ProgressLine {
 public:
  explicit ProgressLine(const Progress& progress);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

 private:
  void run();

  const Progress& progress_;
  std::mutex mutex_;
  std::condition_variable stop_changed_;
  bool stop_ = false;
  Thread thread_;  // last: it starts when all else is there
};

}  // namespace xxl::cli
