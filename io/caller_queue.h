// A file that is no file: a caller of the library is at its other end.
//
// The caller completes the requests of the job. Reads lend it empty memory, which it fills; writes
// lend it what was written, until it asks for the next. So nothing is copied between the two, and
// no thread stands between them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <span>
#include <string>

#include "io/io_queue.h"

namespace xxl::io {

// Requests are completed in the order in which they were submitted. It has as many as are
// submitted: the bound is that of the job's buffers.
class CallerQueue final : public IoQueue {
 public:
  // --- the caller, one thread at a time ---

  // The memory of the request that is next: of a read, to be filled from its start; of a write,
  // what was written. Waits until there is one; empty when there will be none.
  std::span<std::byte> next();
  // Completes that request, of which `bytes` were transferred. Until then its memory stays, even if
  // the job fails. Does nothing if next() had none.
  void complete(std::size_t bytes);

  // --- either side, from any thread ---

  // How requests are answered that are waiting, except the one that the caller has, and all that
  // follow.
  enum class Answer {
    by_caller,
    nothing,    // 0 bytes: a file at its end
    all,        // what is written is forgotten
    cancelled,  // ECANCELED, for good
  };
  void answer(Answer answer);
  // No request follows until reopen(): next() does not wait.
  void close();
  // As in the beginning, unless all is cancelled.
  void reopen();

  // --- the job ---

  void submit(Request request) noexcept override;
  void register_memory(std::span<std::byte>) override {}
  void cancel_streams() override { answer(Answer::cancelled); }
  QueueStats stats() const override { return {}; }  // no disk
  std::string name() const override { return "caller"; }

 private:
  void serve(std::unique_lock<std::mutex> lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Request> requests_;
  Answer answer_ = Answer::by_caller;
  bool lent_ = false;     // the first request, to the caller
  bool serving_ = false;  // a thread answers requests
  bool closed_ = false;
};

}  // namespace xxl::io
