#include "io/thread_queue.h"

#include <algorithm>
#include <utility>

#include "io/transfer.h"

namespace xxl::io {
ThreadQueue::ThreadQueue(unsigned depth) {
  const unsigned count = std::clamp(depth, 1u, kMaxThreads);
  threads_.reserve(count);
  while (threads_.size() < count) {
    Thread thread = Thread::try_start([this] { serve(); });
    if (!thread) break;
    threads_.push_back(std::move(thread));
  }
}

ThreadQueue::~ThreadQueue() {
  cancel_streams();
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  arrived_.notify_all();
}

void ThreadQueue::submit(Request request) noexcept {
  bool queued = false;
  {
    std::lock_guard lock(mutex_);
    queued = waiting_.push(request);
  }
  if (!queued) return refuse(request);
  arrived_.notify_one();
}

void ThreadQueue::serve() {
  for (;;) {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Transfer transfer(waiting_.pop());
    lock.unlock();

    meter_.started();
    if (all_cancelled_) {
      transfer.cancel();
    } else {
      transfer.carry_out(streams_cancelled_.fd());
    }
    meter_.finished(transfer.request().op, transfer.completion().bytes);
    transfer.finish();
  }
}

}  // namespace xxl::io
