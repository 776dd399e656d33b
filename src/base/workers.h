// The worker threads of a sort: a oneTBB arena of fixed width.
#pragma once

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/in_flight.h"

namespace xxl {

// Runs tasks on `width` threads, strictly in the order in which they were given: so a task may wait
// for one that was given before it. A task gets the number of its thread, 0 <= n < width, and may
// use memory set aside for that thread. The destructor waits for all tasks.
class Workers {
 public:
  using Task = std::function<void(unsigned thread)>;

  explicit Workers(unsigned width);
  ~Workers();

  unsigned width() const { return width_; }
  // `task` must not throw.
  void run(Task task);
  // Time spent in tasks, summed over threads.
  double busy_seconds() const { return static_cast<double>(busy_ns_.load()) * 1e-9; }

 private:
  struct Arena {
    explicit Arena(unsigned width);
    tbb::global_control control;
    tbb::task_arena arena;
  };

  void run_tasks(unsigned thread);
  void serve();

  unsigned width_;
  std::optional<Arena> arena_;  // of more than one thread
  std::thread only_;            // one alone is made sooner than an arena
  std::condition_variable arrived_;
  bool stopping_ = false;
  std::mutex mutex_;
  std::deque<Task> tasks_;      // the arena's own queue is not first in, first out
  std::vector<unsigned> idle_;  // numbers of threads without a task
  std::atomic<std::uint64_t> busy_ns_{0};
  InFlight in_flight_;
};

}  // namespace xxl
