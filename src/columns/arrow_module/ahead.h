// Batches that are made ahead of their use.
#pragma once

#include <arrow/record_batch.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "columns/arrow_module/batch_bytes.h"

namespace xxl::arrow_module {

// Calls `next`, which returns null at the end, on a thread of its own, as long as the batches that
// wait to be used have fewer than `most_bytes`. What it throws is thrown by take().
class Ahead {
 public:
  using Batch = std::shared_ptr<::arrow::RecordBatch>;

  Ahead(std::function<Batch()> next, std::uint64_t most_bytes)
      : next_(std::move(next)), most_bytes_(static_cast<std::int64_t>(most_bytes)) {}
  // Waits for the call that is under way.
  ~Ahead() {
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;

  // The next batch. Not to be called again at the end.
  Batch take() {
    if (!thread_.joinable() && !begin()) return next_();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !waiting_.empty() || ended_; });
    if (waiting_.empty()) {
      if (failure_ != nullptr) std::rethrow_exception(failure_);
      return nullptr;
    }
    auto [batch, bytes] = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_bytes_ -= bytes;
    lock.unlock();
    changed_.notify_all();
    return batch;
  }

 private:
  // False where the system refuses a thread: batches are made when they are asked for.
  bool begin() {
    try {
      thread_ = std::thread([this] { work(); });
      return true;
    } catch (const std::system_error&) {
      return false;
    }
  }

  void work() noexcept {
    std::exception_ptr failure;
    try {
      while (add(next_())) {
      }
    } catch (...) {
      failure = std::current_exception();
    }
    {
      std::lock_guard lock(mutex_);
      failure_ = failure;
      ended_ = true;
    }
    changed_.notify_all();
  }

  // False at the end. Waits for its place.
  bool add(Batch batch) {
    if (batch == nullptr) return false;
    const std::int64_t bytes = held_bytes(*batch);
    std::unique_lock lock(mutex_);
    waiting_.emplace_back(std::move(batch), bytes);
    waiting_bytes_ += bytes;
    changed_.notify_all();
    changed_.wait(lock, [this] { return waiting_bytes_ < most_bytes_ || stopped_; });
    return !stopped_;
  }

  const std::function<Batch()> next_;
  const std::int64_t most_bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<Batch, std::int64_t>> waiting_;
  std::int64_t waiting_bytes_ = 0;
  std::exception_ptr failure_;
  bool ended_ = false;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace xxl::arrow_module
