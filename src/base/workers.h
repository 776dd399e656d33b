// The worker threads of a sort.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/thread.h"

namespace xxl {

// Runs tasks on `width` threads, strictly in the order given: so a task may wait for one that was
// given before it. A task gets the number of its thread, 0 <= n < width, and may use memory set
// aside for that thread. The destructor waits for all tasks.
//
// All threads are made at the start. Where the system refuses some, the others do the work; where
// it gives none, or none is requested, the thread that made the workers does it while it waits
// (base/chores.h), and must destroy them.
//
// On a machine of several NUMA nodes threads serve in arenas of oneTBB, one a node, which keep them
// on its processors: so memory that a thread touches first stays near.
class Workers {
 public:
  using Task = std::function<void(unsigned thread)>;
  enum class Threads { wanted, none };

  explicit Workers(unsigned width, Threads threads = Threads::wanted);
  ~Workers();

  unsigned width() const { return width_; }
  // `task` must not throw.
  void run(Task task);
  // Time spent in tasks, summed over threads.
  double busy_seconds() const { return static_cast<double>(busy_ns_.load()) * 1e-9; }

 private:
  class OwnChores;
  class Arenas;

  void start_threads();
  void serve(unsigned thread);
  bool do_one();
  void run_first(std::unique_lock<std::mutex>& lock, unsigned thread);

  unsigned width_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Task> tasks_;
  std::size_t idle_ = 0;  // threads that wait
  bool stopping_ = false;
  std::atomic<std::uint64_t> busy_ns_{0};
  std::unique_ptr<OwnChores> chores_;  // without threads
  std::unique_ptr<Arenas> arenas_;     // on several NUMA nodes
  std::vector<Thread> threads_;        // last: they use the rest
};

}  // namespace xxl
