// The mailbox of a coordinator: the only place where its thread waits.
//
// A phase of a sort (run formation, merge) is run by one coordinator thread that owns all state;
// disks and workers send it messages about what they have finished. So no state of a phase is
// shared, and the coordinator sleeps exactly when nothing has happened.
//
// So it is also where a phase ends that is asked to stop: the coordinator gives up as after a
// failure.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "base/chores.h"
#include "base/error.h"
#include "base/on_stop.h"

namespace xxl {

class Mailbox {
  using Message = std::function<void()>;

 public:
  // Once `stop` is requested, wait_and_run() throws (throw_stopped()).
  explicit Mailbox(std::stop_token stop = {}) : stop_(std::move(stop)) {
    on_stop_.set(stop_, [this] { post([] {}); });
  }

  // Leaves a message, a function without arguments; from any thread. Whoever was promised it waits
  // for it: where there is no memory for it, this waits until others have given some back. If they
  // do not, the message is lost, and wait_and_run() throws std::bad_alloc.
  template <class Function>
  void post(Function message) noexcept {
    for (unsigned tries = 1; !try_post(message) && !gives_up(tries); ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    arrived_.notify_one();
  }

  // Runs `work` for the coordinator, on another thread: what it throws is a message.
  template <class Work>
  void guard(Work&& work) noexcept {
    try {
      work();
    } catch (...) {
      post([failure = std::current_exception()] { std::rethrow_exception(failure); });
    }
  }

  // Waits until at least one message is there and runs all that are. Coordinator thread only.
  // Exceptions of a message pass through; later messages are run by the next call.
  void wait_and_run() {
    if (next_ == batch_.size()) {
      batch_.clear();
      next_ = 0;
      std::unique_lock lock(mutex_);
      Chores::wait(arrived_, lock, [this] { return lost_one_ || !messages_.empty(); });
      if (lost_one_) throw std::bad_alloc();
      batch_.swap(messages_);
    }
    while (next_ < batch_.size()) {
      if (stop_.stop_requested()) throw_stopped();
      Message message = std::move(batch_[next_++]);
      message();
    }
  }

 private:
  static constexpr unsigned kMostTries = 1000;  // to find memory for a message, in milliseconds

  // Whether a message for which there was no memory so often is lost, as the first one that was.
  bool gives_up(unsigned tries) {
    std::lock_guard lock(mutex_);
    lost_one_ = lost_one_ || tries == kMostTries;
    return lost_one_;
  }

  // False, and nothing has changed, if there is no memory.
  template <class Function>
  bool try_post(Function& message) {
    std::lock_guard lock(mutex_);
    const std::size_t before = messages_.size();
    try {
      messages_.emplace_back();
      messages_.back() = std::move(message);  // moved from once there is memory
      return true;
    } catch (const std::bad_alloc&) {
      messages_.resize(before);
      return false;
    }
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Message> messages_;
  bool lost_one_ = false;
  std::vector<Message> batch_;  // taken, being run
  std::size_t next_ = 0;
  std::stop_token stop_;
  OnStop on_stop_;  // last: it uses the others
};

}  // namespace xxl
