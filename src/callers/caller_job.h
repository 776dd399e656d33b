// A job whose inputs are filled, and whose output is read, by the thread of a caller
// (io/caller_queue.h).
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>

#include "base/of_process.h"
#include "base/on_stop.h"
#include "base/thread.h"
#include "callers/shared_resources.h"
#include "io/caller_queue.h"
#include "job/caller_sort.h"
#include "xxl/resources.h"
#include "xxl/sort.h"

namespace xxl::detail {

// All members by the thread of the caller. The job is done by one thread, which destroys it,
// too: it has what belongs to a thread (Chores). In a child after fork(), a job that has begun
// throws Error{usage}.
//
// A small input is sorted by the caller's thread, when the first output is wanted.
class CallerJob : public OfProcess {
 public:
  using Inputs = std::deque<io::CallerQueue>;
  using Make = std::function<std::unique_ptr<CallerSort>(
      const Grant& grant, Inputs& inputs, io::IoQueue& output, const std::stop_token& stop)>;

  // The inputs are filled one after the other. `what`: a name for messages, such as "a sorter".
  // `stop` stops this job. The stop of the resources does so, too.
  CallerJob(const resources& shared, std::uint64_t memory_bytes, std::size_t inputs,
            const Make& make, const char* what, const std::stop_token& stop = {});
  ~CallerJob();
  CallerJob(const CallerJob&) = delete;
  CallerJob& operator=(const CallerJob&) = delete;

  // Memory for what comes next of the input that is being filled. The one before is full.
  std::span<std::byte> room();
  // That input ends: the last room() has `bytes`. The next one follows.
  void end(std::size_t bytes);
  // What comes next of the output; what was before is no longer needed. Empty at the end.
  std::span<const std::byte> next();
  // The output from its start again, if the job can do that.
  void rewind();
  // After the end of the output.
  const SortReport& report();

 private:
  enum class Wanted { nothing, again, end };

  void stop();
  void begin();
  std::span<std::byte> room_of_job();
  std::span<std::byte> leave_small();
  std::span<const std::byte> next_of_small();
  void take_process();
  void check_process() const;
  void work() noexcept;
  void tell(Wanted wanted);
  void wait_until_done();
  [[noreturn]] void throw_failure();

  const char* what_;
  Inputs inputs_;
  io::CallerQueue output_;
  std::stop_source stop_;  // by the resources, the caller, or the destructor
  Grant grant_;
  std::unique_ptr<CallerSort> sort_;
  std::size_t filling_ = 0;           // of inputs_; all: no more input
  std::size_t lent_ = 0;              // of that
  std::size_t lent_from_ = 0;         // where in this the caller's room begins
  std::unique_ptr<SmallSort> small_;  // as long as the input may be small
  bool small_given_ = false;          // its output
  bool begun_ = false;                // records have come
  std::size_t lent_output_ = 0;       // of output_
  bool at_end_ = false;               // no more output
  bool has_failed_ = false;           // and the caller knows
  SortReport report_;                 // of run()
  std::exception_ptr failure_;        // before the queues are closed: theirs is the lock
  std::mutex mutex_;
  std::condition_variable changed_;
  Wanted wanted_ = Wanted::nothing;  // of the thread, when it is done with the last
  bool is_done_ = false;
  OnStop on_stop_of_all_;  // those of the resources
  OnStop on_stop_;
  Thread thread_;  // last: uses the others
};

}  // namespace xxl::detail
