// The order in which a disk serves its requests: first come first served among the writes and among
// the reads, all waiting writes before any read.
#pragma once

#include <cerrno>
#include <deque>
#include <new>
#include <utility>

#include "io/io_queue.h"

namespace xxl::io {

// False, and `request` is as it was, if there is no memory.
inline bool push_request(std::deque<Request>& fifo, Request& request) noexcept {
  try {
    fifo.push_back(std::move(request));  // moved from once there is memory
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// Ends a request that was not queued. Without a lock held.
inline void refuse(const Request& request) {
  request.done({.error = ENOMEM});
}

// Not synchronized: the queue that owns it holds a lock.
class RequestFifo {
 public:
  // False, and `request` is as it was, if there is no memory.
  bool push(Request& request) noexcept {
    return push_request(request.op == Op::write ? writes_ : reads_, request);
  }

  // REQUIRES: !empty().
  Request pop() {
    auto& fifo = writes_.empty() ? reads_ : writes_;
    Request request = std::move(fifo.front());
    fifo.pop_front();
    return request;
  }

  bool empty() const { return size() == 0; }
  std::size_t size() const { return writes_.size() + reads_.size(); }

 private:
  std::deque<Request> writes_;
  std::deque<Request> reads_;
};

}  // namespace xxl::io
