// The mailbox of a coordinator: the only place where its thread waits.
//
// A phase of a sort (run formation, merge) is run by one coordinator thread that owns all state;
// disks and workers send it messages about what they have finished. So no state of a phase is
// shared, and the coordinator sleeps exactly when nothing has happened.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "base/chores.h"

namespace xxl {

class Mailbox {
 public:
  using Message = std::function<void()>;

  // Leaves a message; from any thread.
  void post(Message message) {
    {
      std::lock_guard lock(mutex_);
      messages_.push_back(std::move(message));
    }
    arrived_.notify_one();
  }

  // Waits until at least one message is there and runs all that are. Coordinator thread only.
  // Exceptions of a message pass through; later messages are run by the next call.
  void wait_and_run() {
    if (next_ == batch_.size()) {
      batch_.clear();
      next_ = 0;
      std::unique_lock lock(mutex_);
      Chores::wait(arrived_, lock, [this] { return !messages_.empty(); });
      batch_.swap(messages_);
    }
    while (next_ < batch_.size()) {
      Message message = std::move(batch_[next_++]);
      message();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Message> messages_;
  std::vector<Message> batch_;  // taken, being run
  std::size_t next_ = 0;
};

}  // namespace xxl
