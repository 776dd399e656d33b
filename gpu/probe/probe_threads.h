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
// those that failed threw.
class Threads {
 public:
  // May call wait_for_all() once: it returns when all tasks have called it, or have ended.
  using Task = std::function<void(std::size_t index, const std::function<void()>& wait_for_all)>;

  static void run(std::size_t count, const Task& task) {
    std::latch start(static_cast<std::ptrdiff_t>(count));
    std::vector<std::exception_ptr> failures(count);
    run_threads(count, start, failures, task);
    for (const std::exception_ptr& failure : failures) {
      if (failure != nullptr) std::rethrow_exception(failure);
    }
  }

 private:
  static void run_threads(std::size_t count, std::latch& start,
                          std::vector<std::exception_ptr>& failures, const Task& task) {
    std::vector<std::jthread> threads;
    try {
      for (std::size_t i = 0; i < count; ++i) {
        threads.emplace_back([&, i] { run_one(i, start, failures[i], task); });
      }
    } catch (...) {
      // Running threads do not wait for missing ones.
      start.count_down(static_cast<std::ptrdiff_t>(count - threads.size()));
      throw;
    }
  }

  static void run_one(std::size_t index, std::latch& start, std::exception_ptr& failure,
                      const Task& task) {
    bool arrived = false;
    try {
      task(index, [&] {
        arrived = true;
        start.arrive_and_wait();
      });
    } catch (...) {
      failure = std::current_exception();
    }
    if (!arrived) start.count_down();
  }
};

}  // namespace xxl::gpu::probe
