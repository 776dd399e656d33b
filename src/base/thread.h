// Threads: the only place that makes them.
//
// A system may refuse a thread at any time (ulimit -u, ulimit -v, a control group's pids.max). That
// is not an exception here but a result, since callers that want several can go on with fewer.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <functional>

namespace xxl {

// One thread, or none; waits for its end on destruction.
class Thread {
 public:
  // Not the value of ulimit -s: that may be too little for what runs here, or more address space
  // than a process under ulimit -v can spare.
  static constexpr std::size_t kStackBytes = std::size_t{1} << 20;
  static constexpr std::size_t kLargeStackBytes = std::size_t{8} << 20;  // for libraries

  Thread() = default;
  // Starts a thread that runs `body`, which must not throw; none where the system refuses. No
  // signal interrupts it, so that handlers run on threads of the caller; a pipe that nobody reads
  // is an error.
  static Thread try_start(std::function<void()> body, std::size_t stack_bytes = kStackBytes);
  // The same; throws Error where the system refuses. `purpose` is for the message.
  static Thread start(const char* purpose, std::function<void()> body,
                      std::size_t stack_bytes = kStackBytes);
  Thread(Thread&& other) noexcept;
  Thread& operator=(Thread&& other) noexcept;
  ~Thread() { join(); }

  // True from the start until join() or the destructor has returned.
  explicit operator bool() const { return started_; }
  void join();

 private:
  pthread_t handle_{};
  bool started_ = false;
};

// Runs body(worker, stop) for worker = 0 .. workers - 1 at once, worker 0 on the calling thread,
// and waits for all. When one throws, `stop` becomes true, which the others look at between chunks,
// and the exception is rethrown. Where the system refuses a thread, fewer do the job: any of them
// must be able to do all of it.
void run_threads(unsigned workers,
                 const std::function<void(unsigned worker, const std::atomic<bool>& stop)>& body);

// Calls work(worker, number) for each number < count, by run_threads() with at most `workers`.
void run_numbered(unsigned workers, std::size_t count,
                  const std::function<void(unsigned worker, std::size_t number)>& work);

}  // namespace xxl
