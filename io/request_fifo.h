// The order in which a disk serves its requests: first come first served among the writes and among
// the reads, all waiting writes before any read.
#pragma once

#include <deque>
#include <utility>

#include "io/io_queue.h"

namespace xxl::io {

// Not synchronized: the queue that owns it holds a lock.
class RequestFifo {
 public:
  void push(Request request) {
    auto& fifo = request.op == Op::write ? writes_ : reads_;
    fifo.push_back(std::move(request));
  }

  // REQUIRES: !empty().
  Request pop() {
    auto& fifo = writes_.empty() ? reads_ : writes_;
    Request request = std::move(fifo.front());
    fifo.pop_front();
    return request;
  }

  bool empty() const { return writes_.empty() && reads_.empty(); }

 private:
  std::deque<Request> writes_;
  std::deque<Request> reads_;
};

}  // namespace xxl::io
