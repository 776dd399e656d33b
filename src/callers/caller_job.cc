#include "callers/caller_job.h"

#include <string>
#include <utility>

#include "base/error.h"

namespace xxl::detail {

using Answer = io::CallerQueue::Answer;

CallerJob::CallerJob(const resources& shared, std::uint64_t memory_bytes, std::size_t inputs,
                     const Make& make, const char* what)
    : what_(what),
      inputs_(inputs),
      grant_(shared, memory_bytes),
      sort_(make(grant_, inputs_, output_, stop_.get_token())) {
  on_stop_.set(shared.options().stop, [this] { stop(); });
}

CallerJob::~CallerJob() {
  on_stop_.reset();
  stop();
  for (io::CallerQueue& input : inputs_) input.complete(0);
  output_.complete(0);
  tell(Wanted::end);
}

std::span<std::byte> CallerJob::room() {
  if (filling_ == inputs_.size()) {
    throw Error(ErrorCode::usage, std::string(what_) +
                                      " takes no more records after its input "
                                      "has ended");
  }
  begin();
  io::CallerQueue& input = inputs_[filling_];
  input.complete(lent_);
  const std::span<std::byte> room = input.next();
  if (room.empty()) throw_failure();
  lent_ = room.size();
  return room;
}

void CallerJob::end(std::size_t bytes) {
  begin();
  io::CallerQueue& input = inputs_[filling_++];
  input.complete(bytes);
  input.answer(Answer::nothing);
  lent_ = 0;
}

std::span<const std::byte> CallerJob::next() {
  check_process();
  if (has_failed_) throw_failure();
  output_.complete(std::exchange(lent_output_, 0));
  const std::span<std::byte> data = output_.next();
  if (data.empty() && failure_ != nullptr) throw_failure();
  lent_output_ = data.size();
  at_end_ = data.empty();
  return data;
}

void CallerJob::rewind() {
  check_process();
  sort_->stop_writing();
  output_.answer(Answer::all);
  output_.complete(std::exchange(lent_output_, 0));
  wait_until_done();
  if (failure_ != nullptr) throw_failure();
  output_.reopen();
  at_end_ = false;
  tell(Wanted::again);
}

const SortReport& CallerJob::report() {
  check_process();
  if (!at_end_)
    throw Error(ErrorCode::usage, std::string(what_) + " reports when all has been pulled");
  wait_until_done();
  return report_;
}

// From any thread.
void CallerJob::stop() {
  stop_.request_stop();
  for (io::CallerQueue& input : inputs_) input.answer(Answer::cancelled);
  output_.answer(Answer::cancelled);
}

// Starts the job, if that has not been done.
void CallerJob::begin() {
  check_process();
  if (has_failed_) throw_failure();
  if (thread_) return;
  begin_in_this_process();
  thread_ = Thread::start(
      "sorting", [this] { work(); }, Thread::kLargeStackBytes);
}

void CallerJob::check_process() const {
  if (!thread_ || is_of_this_process()) return;
  throw Error(ErrorCode::usage, std::string(what_) +
                                    " that has records is used by the process that filled it, not "
                                    "by a child of it");
}

void CallerJob::work() noexcept {
  for (Wanted wanted = Wanted::nothing; wanted != Wanted::end;) {
    try {
      if (wanted == Wanted::again) {
        sort_->write_again();
      } else {
        report_ = sort_->run();
      }
      // It may have ended without an error, and without all records.
      if (stop_.stop_requested()) throw_stopped();
    } catch (...) {
      failure_ = std::current_exception();
    }
    for (io::CallerQueue& input : inputs_) input.close();
    output_.close();
    std::unique_lock lock(mutex_);
    is_done_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return wanted_ != Wanted::nothing; });
    wanted = std::exchange(wanted_, Wanted::nothing);
  }
  sort_.reset();
}

void CallerJob::tell(Wanted wanted) {
  {
    std::lock_guard lock(mutex_);
    wanted_ = wanted;
    is_done_ = false;
  }
  changed_.notify_all();
}

void CallerJob::wait_until_done() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return is_done_; });
}

void CallerJob::throw_failure() {
  wait_until_done();
  has_failed_ = true;
  std::rethrow_exception(failure_);
}

}  // namespace xxl::detail
