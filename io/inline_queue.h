// I/O by the calling thread: for small jobs, where rings and threads cost more than they save, and
// where the system gives no threads.
#pragma once

#include <mutex>
#include <string>
#include <utility>

#include "io/io_queue.h"
#include "io/queue_meter.h"
#include "io/request_fifo.h"
#include "io/transfer.h"

namespace xxl::io {

// submit() carries the transfer out and calls `done` before it returns. But what is submitted while
// another transfer is under way (by its `done`, or by another thread) is left to that transfer's
// thread: so nothing is called recursively.
class InlineQueue final : public IoQueue {
 public:
  void submit(Request request) noexcept override {
    std::unique_lock lock(mutex_);
    if (!waiting_.push(request)) {
      lock.unlock();
      return refuse(request);
    }
    if (std::exchange(serving_, true)) return;
    while (!waiting_.empty()) {
      Transfer transfer(waiting_.pop());
      lock.unlock();
      meter_.started();
      transfer.carry_out();
      meter_.finished(transfer.request().op, transfer.completion().bytes);
      transfer.finish();
      lock.lock();
    }
    serving_ = false;
  }
  void register_memory(std::span<std::byte>) override {}  // nothing to gain
  QueueStats stats() const override { return meter_.snapshot(); }
  std::string name() const override { return "inline"; }

 private:
  std::mutex mutex_;
  RequestFifo waiting_;
  bool serving_ = false;
  QueueMeter meter_;
};

}  // namespace xxl::io
