// How the threads of a general sort wait: one lock, one signal, one first failure.
//
// Waits are rare (a block, a chunk, a cell) and short sections are guarded, so one lock serves all
// of a sort. It makes ending simple: a failure wakes all threads. So does being asked to stop,
// which is a failure like others.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <stop_token>
#include <utility>

#include "base/chores.h"
#include "base/error.h"
#include "base/on_stop.h"

namespace xxl {

class Monitor {
 public:
  using Lock = std::unique_lock<std::mutex>;

  // Thrown out of wait() when another thread has failed: unwinds a task quietly.
  struct Abandoned {};

  // Once `stop` is requested, that is the failure (throw_stopped()).
  explicit Monitor(std::stop_token stop = {}) : stop_(std::move(stop)) {
    on_stop_.set(stop_, [this] { fail(nullptr); });
  }

  Lock lock() { return Lock(mutex_); }
  // Wakes waiting threads after a change. With or without the lock.
  void notify() { changed_.notify_all(); }
  // Changes something with the lock held, and wakes those that wait for it.
  template <class Change>
  void change(Change&& make) {
    {
      std::lock_guard guard(mutex_);
      make();
    }
    notify();
  }

  // Waits until `ready()`, which is called with the lock held. Throws Abandoned after a failure.
  template <class Ready>
  void wait(Lock& lock, Ready ready) {
    Chores::wait(changed_, lock, [&] { return failure_ != nullptr || ready(); });
    if (failure_ != nullptr) throw Abandoned{};
  }
  // The same for what only waits.
  template <class Ready>
  void wait(Ready ready) {
    Lock lock(mutex_);
    wait(lock, std::move(ready));
  }

  // Throws Abandoned after a failure: for tasks that have not begun. Without the lock held.
  void pass() {
    std::lock_guard guard(mutex_);
    if (failure_ != nullptr) throw Abandoned{};
  }

  // Waits for the next change, after a failure too.
  void wait_whatever(Lock& lock) { Chores::wait_for_change(changed_, lock); }

  // The first failure is kept; what fails after a stop does because of it. Without the lock held.
  void fail(std::exception_ptr failure) {
    if (stop_.stop_requested()) failure = stopped();
    {
      std::lock_guard guard(mutex_);
      if (failure_ == nullptr) failure_ = std::move(failure);
    }
    notify();
  }
  // Returns work(). Throws the failure in place of Abandoned.
  template <class Work>
  auto run(Work&& work) {
    try {
      return work();
    } catch (const Abandoned&) {
      check();
      throw;
    }
  }
  // Runs `work` and keeps what it throws.
  template <class Work>
  void guard(Work&& work) noexcept {
    try {
      work();
    } catch (const Abandoned&) {
    } catch (...) {
      fail(std::current_exception());
    }
  }
  // Throws the failure, if there was one. Without the lock held.
  void check() {
    std::exception_ptr failure;
    {
      std::lock_guard guard(mutex_);
      failure = failure_;
    }
    if (failure != nullptr) std::rethrow_exception(failure);
  }

 private:
  static std::exception_ptr stopped() {
    try {
      throw_stopped();
    } catch (...) {
      return std::current_exception();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr failure_;
  std::stop_token stop_;
  OnStop on_stop_;  // last: it uses the others
};

}  // namespace xxl
