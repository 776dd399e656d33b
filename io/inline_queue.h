// I/O by the thread that asks for it: for so little that rings and threads cost more than they
// save.
#pragma once

#include <mutex>
#include <string>

#include "io/io_queue.h"
#include "io/queue_meter.h"
#include "io/transfer.h"

namespace xxl::io {

// submit() carries the transfer out and calls `done` before it returns.
class InlineQueue final : public IoQueue {
 public:
  void submit(Request request) override {
    Transfer transfer(std::move(request));
    {
      std::lock_guard lock(mutex_);
      meter_.started();
      transfer.carry_out();
      meter_.finished(transfer.request().op, transfer.completion().bytes);
    }
    transfer.finish();
  }
  void register_memory(std::span<std::byte>) override {}  // nothing to gain
  QueueStats stats() const override { return meter_.snapshot(); }
  std::string name() const override { return "inline"; }

 private:
  std::mutex mutex_;  // streams are read and written one request at a time
  QueueMeter meter_;
};

}  // namespace xxl::io
