#include "base/workers.h"

#include <chrono>
#include <csignal>
#include <utility>

namespace xxl {

// The coordinator's thread never joins the arena; oneTBB counts it against the allowed parallelism
// all the same, hence one more.
Workers::Arena::Arena(unsigned width)
    : control(tbb::global_control::max_allowed_parallelism, width + 1),
      arena(static_cast<int>(width), 0) {}

Workers::Workers(unsigned width) : width_(width) {
  if (width == 1) {
    // Signals go to the program's own threads.
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGPIPE);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    only_ = std::thread([this] { serve(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return;
  }
  arena_.emplace(width);
  for (unsigned thread = width; thread-- > 0;) idle_.push_back(thread);
}

Workers::~Workers() {
  if (!only_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  arrived_.notify_one();
  only_.join();
}

void Workers::run(Task task) {
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    if (arena_) {
      if (idle_.empty()) return;  // every thread is busy and will come to it
      const unsigned thread = idle_.back();
      idle_.pop_back();
      try {
        arena_->arena.enqueue([this, thread, token = in_flight_.begin()] { run_tasks(thread); });
      } catch (...) {  // no thread can be made: whoever waits for the task must not wait for ever
        idle_.push_back(thread);
        tasks_.pop_back();
        throw;
      }
      return;
    }
  }
  arrived_.notify_one();
}

// The life of the only thread: runs tasks until there are none and there will be none.
void Workers::serve() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      arrived_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
    }
    run_tasks(0);
  }
}

// Runs tasks as thread `thread` until there are none.
void Workers::run_tasks(unsigned thread) {
  for (;;) {
    Task task;
    {
      std::lock_guard lock(mutex_);
      if (tasks_.empty()) {
        if (arena_) idle_.push_back(thread);
        return;
      }
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    const auto start = std::chrono::steady_clock::now();
    task(thread);
    busy_ns_ += static_cast<std::uint64_t>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
  }
}

}  // namespace xxl
