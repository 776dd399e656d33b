// A function called when a stop is asked for.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <utility>

#include "base/thread.h"

namespace xxl {

// As std::stop_callback, which libstdc++ lets be destroyed by another thread than the one that asks
// for the stop only if the process had several threads when it was asked for: otherwise the
// destructor waits for ever. glibc never again takes a process that had a second thread for one of
// a single thread, so that is made sure of before.
class OnStop {
 public:
  // Has `stop` call `function`, on the thread that asks for it; at once if that was before. Nothing
  // if it can never be asked for.
  void set(const std::stop_token& stop, std::function<void()> function) {
    if (!stop.stop_possible()) return;
    [[maybe_unused]] static const bool had_two_threads = have_two_threads();
    static_cast<void>(callback_.emplace(stop, std::move(function)));
  }
  void reset() { callback_.reset(); }

 private:
  static bool have_two_threads() {
    Thread::start("for requests to stop", [] {}).join();
    return true;
  }

  std::optional<std::stop_callback<std::function<void()>>> callback_;
};

}  // namespace xxl
