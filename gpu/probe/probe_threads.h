// Threads that start together, one for each transfer or GPU.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <latch>
#include <thread>
#include <vector>

namespace xxl::gpu::probe {

// Runs task(0), ..., task(count - 1), each on a thread of its own, and throws what the first of
// those that failed threw. A task may call wait_for_all() once: it returns when all tasks have
// called it, or have ended.
inline void run_together(
    std::size_t count,
    const std::function<void(std::size_t index, const std::function<void()>& wait_for_all)>& task) {
  std::latch start(static_cast<std::ptrdiff_t>(count));
  std::vector<std::exception_ptr> failures(count);
  const auto run = [&](std::size_t index) {
    bool arrived = false;
    try {
      task(index, [&] {
        arrived = true;
        start.arrive_and_wait();
      });
    } catch (...) {
      failures[index] = std::current_exception();
    }
    if (!arrived) start.count_down();
  };
  {
    std::vector<std::jthread> threads;
    try {
      for (std::size_t i = 0; i < count; ++i) threads.emplace_back(run, i);
    } catch (...) {
      // Running threads do not wait for missing ones.
      start.count_down(static_cast<std::ptrdiff_t>(count - threads.size()));
      throw;
    }
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure != nullptr) std::rethrow_exception(failure);
  }
}

}  // namespace xxl::gpu::probe
