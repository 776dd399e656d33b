// A few equal threads that share the chunks of one job: what generate and validate run on.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/units.h"

namespace xxl {

// Threads for a job of `chunks` chunks: `parallel` of them (0: as many as processors that this
// process may run on) for the processors and `waiting` more that keep the disk busy meanwhile, but
// no more than there are chunks or than have room for `bytes_each` in `bytes_in_all`. At least 1.
inline unsigned thread_count(unsigned parallel, unsigned waiting, std::uint64_t chunks,
                             std::size_t bytes_each, std::size_t bytes_in_all) {
  if (parallel == 0) parallel = available_processors();
  const std::uint64_t most = std::min<std::uint64_t>(chunks, bytes_in_all / bytes_each);
  const std::uint64_t wanted = std::uint64_t{parallel} + waiting;
  return static_cast<unsigned>(std::max<std::uint64_t>(1, std::min(wanted, most)));
}

// Runs body(worker, stop) for worker = 0 .. workers - 1 at once, worker 0 on the calling thread,
// and waits for all. When one throws, `stop` becomes true, which the others look at between chunks,
// and the exception is rethrown. Where the system refuses a thread, fewer do the job: any of them
// must be able to do all of it.
inline void run_threads(
    unsigned workers,
    const std::function<void(unsigned worker, const std::atomic<bool>& stop)>& body) {
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run = [&](unsigned worker) {
    try {
      body(worker, stop);
    } catch (...) {
      stop = true;
      std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(workers - 1);
    try {
      for (unsigned worker = 1; worker < workers; ++worker) threads.emplace_back(run, worker);
    } catch (const std::system_error&) {
    }
    run(0);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace xxl
