// Batches that are made one ahead of their use.
#pragma once

#include <arrow/record_batch.h>

#include <functional>
#include <future>
#include <memory>
#include <system_error>
#include <utility>

namespace xxl::arrow_module {

// Calls `next`, which returns null at the end, on a thread of its own while the batch before it is
// used; never twice at a time. What it throws is thrown by take().
class Ahead {
 public:
  using Batch = std::shared_ptr<::arrow::RecordBatch>;

  explicit Ahead(std::function<Batch()> next) : next_(std::move(next)) {}
  // Waits for the call that is under way.
  ~Ahead() {
    if (ahead_.valid()) ahead_.wait();
  }
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;

  // The next batch, after which the one behind it is begun. Not to be called again at the end.
  Batch take() {
    Batch batch = ahead_.valid() ? ahead_.get() : next_();
    if (batch != nullptr) begin();
    return batch;
  }

 private:
  void begin() {
    try {
      ahead_ = std::async(std::launch::async, next_);
    } catch (const std::system_error&) {
      // No thread: it is made when it is asked for.
    }
  }

  const std::function<Batch()> next_;
  std::future<Batch> ahead_;
};

}  // namespace xxl::arrow_module
