// A queue whose transfers are recorded in a time line.
#pragma once

#include <memory>
#include <new>
#include <string>
#include <utility>

#include "base/time_line.h"
#include "io/io_queue.h"
#include "io/request_fifo.h"

namespace xxl::io {

class TracedQueue final : public IoQueue {
 public:
  // `time_line` must outlive the queue; `track`: of its transfers.
  TracedQueue(std::unique_ptr<IoQueue> queue, TimeLine& time_line, std::string track)
      : queue_(std::move(queue)), time_line_(time_line), track_(std::move(track)) {}

  void submit(Request request) noexcept override {
    const bool read = request.op == Op::read;
    try {
      request.done = [this, read, start = TimeLine::now(),
                      done = request.done](const Completion& completion) {
        time_line_.add(track_, read ? "read" : "write", start, TimeLine::now(), completion.bytes);
        done(completion);
      };
    } catch (const std::bad_alloc&) {
      return refuse(request);
    }
    queue_->submit(std::move(request));
  }
  void register_memory(std::span<std::byte> memory) override { queue_->register_memory(memory); }
  void cancel_streams() override { queue_->cancel_streams(); }
  void cancel_all() override { queue_->cancel_all(); }
  QueueStats stats() const override { return queue_->stats(); }
  std::string name() const override { return queue_->name(); }

 private:
  std::unique_ptr<IoQueue> queue_;
  TimeLine& time_line_;
  const std::string track_;
};

}  // namespace xxl::io
