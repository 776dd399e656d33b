// Counts an object's operations on other threads, so that it is not destroyed during them.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "base/chores.h"

namespace xxl {

// Declare it as the last member: its destructor waits until every token is gone, before anything
// else of the object dies. Messages in a mailbox need no token: a mailbox whose coordinator gave up
// is never run again.
class InFlight {
 public:
  using Token = std::shared_ptr<void>;

  InFlight() : state_(std::make_shared<TokenCount>()) {}
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;
  ~InFlight() {
    std::unique_lock lock(state_->mutex);
    Chores::wait(state_->none, lock, [this] { return state_->count == 0; });
  }

  // A token for one operation; drop it when the object is no longer needed.
  Token begin() {
    {
      std::lock_guard lock(state_->mutex);
      ++state_->count;
    }
    return Token(nullptr, [state = state_](void*) {
      std::lock_guard lock(state->mutex);
      if (--state->count == 0) state->none.notify_all();
    });
  }

 private:
  struct TokenCount {
    std::mutex mutex;
    std::condition_variable none;
    std::size_t count = 0;
  };
  std::shared_ptr<TokenCount> state_;
};

}  // namespace xxl
