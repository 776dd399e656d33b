#include "base/workers.h"

#include <chrono>
#include <utility>

namespace xxl {

// The coordinator's thread never joins the arena; oneTBB counts it against the allowed parallelism
// all the same, hence one more.
Workers::Workers(unsigned width)
    : width_(width),
      control_(tbb::global_control::max_allowed_parallelism, width + 1),
      arena_(static_cast<int>(width), 0) {
  for (unsigned thread = width; thread-- > 0;) idle_.push_back(thread);
}

void Workers::run(Task task) {
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    if (idle_.empty()) return;  // every thread is busy and will come to it
    const unsigned thread = idle_.back();
    idle_.pop_back();
    arena_.enqueue([this, thread, token = in_flight_.begin()] { run_tasks(thread); });
  }
}

// Runs tasks as thread `thread` until there are none.
void Workers::run_tasks(unsigned thread) {
  for (;;) {
    Task task;
    {
      std::lock_guard lock(mutex_);
      if (tasks_.empty()) {
        idle_.push_back(thread);
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
