// A thread that runs tasks on a stream of a device, one after the other.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "base/mailbox.h"
#include "base/thread.h"
#include "base/time_line.h"
#include "gpu/device/device.h"

namespace xxl::gpu {

class StreamThread {
 public:
  using Task = std::function<void(Stream&)>;

  // `stream` is used by the thread alone. `name` is that of its track in time lines (which may be
  // null). The mailbox must outlive the thread.
  StreamThread(std::unique_ptr<Stream> stream, Mailbox& mailbox, std::string name,
               TimeLine* time_line);
  // Waits for the task that is running; later ones are dropped.
  ~StreamThread();
  StreamThread(const StreamThread&) = delete;
  StreamThread& operator=(const StreamThread&) = delete;

  // Runs `task`, then leaves `done` in the mailbox; what the task throws is thrown by the mailbox
  // instead, and no further task is run. `what` names the task in time lines (a literal).
  void run(const char* what, Task task, std::function<void()> done);
  // Time spent in tasks.
  double busy_seconds() const;

 private:
  struct QueuedTask {
    const char* what;
    Task task;
    std::function<void()> done;
  };
  void serve();

  std::unique_ptr<Stream> stream_;
  Mailbox& mailbox_;
  std::string name_;
  TimeLine* time_line_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<QueuedTask> queue_;
  bool stopping_ = false;
  bool failed_ = false;
  std::uint64_t busy_ns_ = 0;
  Thread thread_;  // last
};

}  // namespace xxl::gpu
