#include "base/workers.h"

#include <chrono>
#include <utility>

namespace xxl {

// The coordinator's thread never joins the arena; oneTBB counts it against the allowed parallelism
// all the same, hence one more.
Workers::Workers(unsigned width)
    : width_(width),
      control_(tbb::global_control::max_allowed_parallelism, width + 1),
      arena_(static_cast<int>(width), 0) {}

void Workers::run(Task task) {
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  arena_.enqueue([this, token = in_flight_.begin()] { run_first(); });
}

void Workers::run_first() {
  Task task;
  {
    std::lock_guard lock(mutex_);
    task = std::move(tasks_.front());
    tasks_.pop_front();
  }
  const auto start = std::chrono::steady_clock::now();
  task(static_cast<unsigned>(tbb::this_task_arena::current_thread_index()));
  busy_ns_ += static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
}

}  // namespace xxl
