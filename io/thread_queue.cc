#include "io/thread_queue.h"

#include <algorithm>

#include "io/quiet_thread.h"
#include "io/transfer.h"

namespace xxl::io {
ThreadQueue::ThreadQueue(unsigned depth) {
  const unsigned count = std::clamp(depth, 1u, kMaxThreads);
  try {
    for (unsigned i = 0; i < count; ++i) {
      threads_.push_back(start_quiet_thread([this] { serve(); }));
    }
  } catch (...) {
    stop();
    throw;
  }
}

ThreadQueue::~ThreadQueue() {
  stop();
}

void ThreadQueue::stop() {
  cancel_streams();
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  arrived_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadQueue::submit(Request request) {
  {
    std::lock_guard lock(mutex_);
    waiting_.push(std::move(request));
  }
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
    transfer.carry_out(streams_cancelled_.fd());
    meter_.finished(transfer.request().op, transfer.completion().bytes);
    transfer.finish();
  }
}

}  // namespace xxl::io
