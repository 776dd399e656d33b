#include "gpu/device/stream_thread.h"

#include <exception>
#include <utility>

namespace xxl::gpu {

StreamThread::StreamThread(std::unique_ptr<Stream> stream, Mailbox& mailbox, std::string name,
                           TimeLine* time_line)
    : stream_(std::move(stream)),
      mailbox_(mailbox),
      name_(std::move(name)),
      time_line_(time_line),
      thread_(Thread::start(
          "for a GPU", [this] { serve(); }, Thread::kLargeStackBytes)) {}

StreamThread::~StreamThread() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  arrived_.notify_one();
  thread_.join();
}

void StreamThread::run(const char* what, Task task, std::function<void()> done) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back({what, std::move(task), std::move(done)});
  }
  arrived_.notify_one();
}

double StreamThread::busy_seconds() const {
  std::lock_guard lock(mutex_);
  return static_cast<double>(busy_ns_) * 1e-9;
}

void StreamThread::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    arrived_.wait(lock, [this] { return stopping_ || (!queue_.empty() && !failed_); });
    if (stopping_) return;
    QueuedTask next = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    const auto start = TimeLine::now();
    std::exception_ptr error;
    try {
      next.task(*stream_);
      stream_->finish();
    } catch (...) {
      error = std::current_exception();
    }
    const auto end = TimeLine::now();
    if (time_line_ != nullptr) time_line_->add(name_, next.what, start, end);
    next.task = nullptr;
    lock.lock();
    busy_ns_ += end - start;
    failed_ = error != nullptr;
    lock.unlock();
    if (error) {
      mailbox_.post([error] { std::rethrow_exception(error); });
    } else {
      mailbox_.post(std::move(next.done));
    }
    lock.lock();
  }
}

}  // namespace xxl::gpu
