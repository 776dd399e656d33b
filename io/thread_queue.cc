#include "io/thread_queue.h"

#include <algorithm>
#include <new>
#include <utility>

#include "io/transfer.h"

namespace xxl::io {

ThreadQueue::ThreadQueue(unsigned depth) : most_threads_(std::clamp(depth, 1u, kMaxThreads)) {
  threads_.reserve(most_threads_);
  start_thread();
}

void ThreadQueue::start_thread() noexcept {
  try {
    Thread thread = Thread::try_start([this] { serve(); });
    if (thread) return threads_.push_back(std::move(thread));
  } catch (const std::bad_alloc&) {
  }
  most_threads_ = threads_.size();
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
    const std::size_t free = threads_.size() - busy_;
    if (waiting_.size() > free && threads_.size() < most_threads_) start_thread();
  }
  if (!queued) return refuse(request);
  arrived_.notify_one();
}

void ThreadQueue::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    arrived_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    ++busy_;
    {
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
    lock.lock();
    --busy_;
  }
}

}  // namespace xxl::io
