#include "io/caller_queue.h"

#include <cerrno>
#include <utility>

#include "io/request_fifo.h"

namespace xxl::io {

std::span<std::byte> CallerQueue::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !requests_.empty() || closed_; });
  if (requests_.empty()) return {};
  lent_ = true;
  return requests_.front().data;
}

void CallerQueue::complete(std::size_t bytes) {
  std::unique_lock lock(mutex_);
  if (!std::exchange(lent_, false)) return;
  Request request = std::move(requests_.front());
  requests_.pop_front();
  const int error = answer_ == Answer::cancelled ? ECANCELED : 0;
  lock.unlock();
  request.done({error, bytes});
  request = {};
  lock.lock();
  serve(std::move(lock));
}

void CallerQueue::answer(Answer answer) {
  std::unique_lock lock(mutex_);
  if (answer_ == Answer::cancelled) return;
  answer_ = answer;
  serve(std::move(lock));
}

void CallerQueue::close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

void CallerQueue::reopen() {
  std::lock_guard lock(mutex_);
  closed_ = false;
  if (answer_ != Answer::cancelled) answer_ = Answer::by_caller;
}

void CallerQueue::submit(Request request) noexcept {
  std::unique_lock lock(mutex_);
  if (!push_request(requests_, request)) {
    lock.unlock();
    return refuse(request);
  }
  changed_.notify_all();
  serve(std::move(lock));
}

// Answers what waits, unless the caller does, or another call is doing so: `done` may submit the
// next request.
void CallerQueue::serve(std::unique_lock<std::mutex> lock) {
  if (serving_) return;
  serving_ = true;
  while (!requests_.empty() && !lent_ && answer_ != Answer::by_caller) {
    Request request = std::move(requests_.front());
    requests_.pop_front();
    Completion completion;
    if (answer_ == Answer::cancelled) completion.error = ECANCELED;
    if (answer_ == Answer::all) completion.bytes = request.data.size();
    lock.unlock();
    request.done(completion);
    request = {};  // with what it holds
    lock.lock();
  }
  serving_ = false;
}

}  // namespace xxl::io
