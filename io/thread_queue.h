// Asynchronous I/O by threads that block: for files that are copied (in memory, in the page cache),
// for streams, and for all files where io_uring is missing or forbidden.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "base/thread.h"
#include "io/io_queue.h"
#include "io/queue_meter.h"
#include "io/request_fifo.h"
#include "io/wake_event.h"

namespace xxl::io {

class ThreadQueue final : public IoQueue {
 public:
  // More threads than this gain nothing on the disks seen.
  static constexpr unsigned kMaxThreads = 16;

  // Keeps min(depth, kMaxThreads) transfers in flight, each on a thread of its own, started when it
  // is first needed; fewer where the system refuses threads. REQUIRES for submit(): width() > 0.
  explicit ThreadQueue(unsigned depth);
  ~ThreadQueue() override;

  std::size_t width() const { return threads_.size(); }
  void submit(Request request) noexcept override;
  void register_memory(std::span<std::byte>) override {}  // nothing to gain
  void cancel_streams() override { streams_cancelled_.send(); }
  void cancel_all() override {
    all_cancelled_ = true;
    cancel_streams();
  }
  QueueStats stats() const override { return meter_.snapshot(); }
  std::string name() const override { return "threads"; }

 private:
  void start_thread() noexcept;
  void serve();

  std::mutex mutex_;
  std::condition_variable arrived_;
  RequestFifo waiting_;
  bool stopping_ = false;
  std::size_t most_threads_;
  std::size_t busy_ = 0;  // threads
  QueueMeter meter_;
  WakeEvent streams_cancelled_;  // never taken back: it stays readable
  std::atomic<bool> all_cancelled_ = false;
  std::vector<Thread> threads_;
};

}  // namespace xxl::io
