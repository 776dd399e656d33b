// Counts what a queue moves and how long it is busy.
#pragma once

#include <chrono>
#include <mutex>

#include "io/io_queue.h"

namespace xxl::io {

class QueueMeter {
 public:
  // A transfer starts.
  void started() {
    std::lock_guard lock(mutex_);
    if (in_flight_++ == 0) busy_since_ = Clock::now();
  }

  // It has ended, having moved `bytes`.
  void finished(Op op, std::size_t bytes) {
    std::lock_guard lock(mutex_);
    (op == Op::read ? stats_.bytes_read : stats_.bytes_written) += bytes;
    ++stats_.requests;
    if (--in_flight_ == 0) stats_.busy_ns += ns_since(busy_since_);
  }

  QueueStats snapshot() const {
    std::lock_guard lock(mutex_);
    QueueStats stats = stats_;
    if (in_flight_ > 0) stats.busy_ns += ns_since(busy_since_);
    return stats;
  }

 private:
  using Clock = std::chrono::steady_clock;

  static std::uint64_t ns_since(Clock::time_point start) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
  }

  mutable std::mutex mutex_;
  QueueStats stats_;
  unsigned in_flight_ = 0;
  Clock::time_point busy_since_;
};

}  // namespace xxl::io
