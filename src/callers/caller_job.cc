#include "callers/caller_job.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"

namespace xxl::detail {

using Answer = io::CallerQueue::Answer;

CallerJob::CallerJob(const resources& shared, std::uint64_t memory_bytes, std::size_t inputs,
                     const Make& make, const char* what, const std::stop_token& stop)
    : what_(what),
      inputs_(inputs),
      grant_(shared, memory_bytes),
      sort_(make(grant_, inputs_, output_, stop_.get_token())),
      small_(inputs == 1 ? sort_->small_sort() : nullptr) {
  on_stop_of_all_.set(shared.shared()->stop(), [this] { this->stop(); });
  on_stop_.set(stop, [this] { this->stop(); });
}

CallerJob::~CallerJob() {
  on_stop_of_all_.reset();
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
  check_process();
  if (!small_) return room_of_job();
  take_process();
  const std::span<std::byte> room =
      stop_.stop_requested() ? std::span<std::byte>() : small_->room();
  return room.empty() ? leave_small() : room;
}

std::span<std::byte> CallerJob::room_of_job() {
  begin();
  io::CallerQueue& input = inputs_[filling_];
  input.complete(lent_);
  const std::span<std::byte> room = input.next();
  if (room.empty()) throw_failure();
  lent_ = room.size();
  lent_from_ = 0;
  return room;
}

// More records come: the job begins, and gets those that have come.
std::span<std::byte> CallerJob::leave_small() {
  const std::unique_ptr<SmallSort> small = std::move(small_);
  std::span<const std::byte> left = small->collected();
  for (;;) {
    const std::span<std::byte> room = room_of_job();
    const std::size_t some = std::min(room.size(), left.size());
    std::copy_n(left.data(), some, room.data());
    left = left.subspan(some);
    if (some < room.size()) {
      lent_from_ = some;
      return room.subspan(some);
    }
  }
}

void CallerJob::end(std::size_t bytes) {
  if (small_) {
    check_process();
    small_->end(bytes);
    ++filling_;
    return;
  }
  begin();
  io::CallerQueue& input = inputs_[filling_++];
  input.complete(lent_from_ + bytes);
  input.answer(Answer::nothing);
  lent_ = lent_from_ = 0;
}

std::span<const std::byte> CallerJob::next() {
  check_process();
  if (has_failed_) throw_failure();
  if (small_) return next_of_small();
  output_.complete(std::exchange(lent_output_, 0));
  const std::span<std::byte> data = output_.next();
  if (data.empty() && failure_ != nullptr) throw_failure();
  lent_output_ = data.size();
  at_end_ = data.empty();
  return data;
}

// All of it at once, then nothing.
std::span<const std::byte> CallerJob::next_of_small() {
  at_end_ = std::exchange(small_given_, true);
  if (at_end_) return {};
  try {
    if (stop_.stop_requested()) throw_stopped();
    const std::span<const std::byte> output = small_->sorted();
    at_end_ = output.empty();
    return output;
  } catch (...) {
    failure_ = std::current_exception();
    has_failed_ = is_done_ = true;
    throw;
  }
}

void CallerJob::rewind() {
  check_process();
  if (small_) {
    if (failure_ != nullptr) throw_failure();
    small_given_ = at_end_ = false;
    return;
  }
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
  if (small_) return report_ = small_->report();
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
  take_process();
  thread_ = Thread::start(
      "sorting", [this] { work(); }, Thread::kLargeStackBytes);
}

void CallerJob::take_process() {
  if (!std::exchange(begun_, true)) begin_in_this_process();
}

void CallerJob::check_process() const {
  if (!begun_ || is_of_this_process()) return;
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
