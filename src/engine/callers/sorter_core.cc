// Sorters of programs: a sort whose input and output are queues of its caller.
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/on_stop.h"
#include "base/thread.h"
#include "engine/caller_sort.h"
#include "engine/callers/key_fields.h"
#include "engine/callers/shared_resources.h"
#include "engine/inputs.h"
#include "engine/record_sort/sorting.h"
#include "engine/text_sort/text_sort.h"
#include "io/caller_queue.h"
#include "record/caller_keys.h"
#include "record/key_labels.h"
#include "record/record_format.h"
#include "xxl/sorter_core.h"

namespace xxl::detail {
namespace {

using Answer = io::CallerQueue::Answer;

static_assert(std::is_same_v<SorterBytes::RecordCount, RecordCount>);

RecordFormat format_of(const SorterSpec& spec) {
  RecordFormat format;
  format.name = "records of " + std::to_string(spec.record_bytes) + " bytes";
  format.record_bytes = spec.record_bytes;
  if (spec.order != nullptr) {
    format.labels = std::make_shared<KeyLabels>(spec.order, spec.record_bytes);
    return format;
  }
  format.key = key_fields(spec.key);
  return format;
}

// What records of all kinds have.
template <class Options>
Options options_of(const Grant& grant, const sorter_options& wanted, io::IoQueue& output,
                   const std::stop_token& stop) {
  Options options;
  grant.give_to(options);
  static_cast<JobMeans&>(options) = grant.means();
  options.stop = stop;
  options.compressed_by_suffix = false;
  options.output = "the sorter's output";
  options.output_caller = &output;
  options.unique = wanted.unique;
  options.limit = wanted.limit;
  options.repeatable = wanted.repeatable;
  options.progress = wanted.progress;
  return options;
}

Inputs input_of(io::IoQueue& queue, std::uint64_t expected_bytes) {
  Inputs inputs;
  inputs.files.push_back(io::File::of_caller(queue, "the sorter's input"));
  inputs.size_known = false;
  inputs.bytes = expected_bytes;
  return inputs;
}

std::unique_ptr<CallerSort> sort_of_records(SortOptions options, const SorterSpec& spec,
                                            io::IoQueue& input) {
  options.format = format_of(spec);
  const auto make = [&](std::uint64_t expected_bytes) {
    auto sorting = std::make_unique<Sorting>(options, input_of(input, expected_bytes));
    sorting->plan_again(options, {});
    return sorting;
  };
  const std::uint64_t expected = spec.options.expected_records;
  if (expected > 0 && expected <= ~std::uint64_t{0} / spec.record_bytes) {
    try {
      return make(expected * spec.record_bytes);
    } catch (const Error&) {  // too many for this memory: perhaps fewer come
    }
  }
  return make(0);
}

std::unique_ptr<CallerSort> sort_of_any_length(TextSortOptions options, const SorterSpec& spec,
                                               io::IoQueue& input) {
  if (spec.options.expected_records != 0) {
    throw Error(ErrorCode::usage,
                "sorter_options::expected_records is for records of a fixed size");
  }
  options.syntax.counted = true;
  if (spec.length == RecordLength::any) {
    options.keys = std::make_shared<RecordAsKey>(spec.descending);
  } else {
    options.keys = std::make_shared<LeadingKey>();
  }
  return make_text_caller_sort(options, input_of(input, 0));
}

std::unique_ptr<CallerSort> make_sort(const Grant& grant, const SorterSpec& spec,
                                      io::IoQueue& input, io::IoQueue& output,
                                      const std::stop_token& stop) {
  if (spec.length == RecordLength::fixed) {
    return sort_of_records(options_of<SortOptions>(grant, spec.options, output, stop), spec, input);
  }
  return sort_of_any_length(options_of<TextSortOptions>(grant, spec.options, output, stop), spec,
                            input);
}

}  // namespace

// All but work() by the thread of the caller. The sort is done by one thread, which destroys it,
// too: it has what belongs to a thread (Chores).
class SorterCore::Job {
 public:
  Job(const resources& shared, const SorterSpec& spec)
      : grant_(shared, spec.options.memory_bytes),
        repeatable_(spec.options.repeatable),
        sort_(make_sort(grant_, spec, input_, output_, stop_.get_token())) {
    on_stop_.set(shared.options().stop, [this] { stop(); });
  }

  ~Job() {
    on_stop_.reset();
    stop();
    input_.complete(0);
    output_.complete(0);
    tell(Wanted::end);
  }

  std::span<std::byte> room() {
    if (sealed_) throw Error(ErrorCode::usage, "a sorter takes no more records after sort()");
    begin();
    input_.complete(lent_);
    const std::span<std::byte> room = input_.next();
    if (room.empty()) throw_failure();
    lent_ = room.size();
    return room;
  }

  void end(std::size_t bytes) {
    begin();
    sealed_ = true;
    input_.complete(bytes);
    input_.answer(Answer::nothing);
  }

  std::span<const std::byte> next() {
    if (has_failed_) throw_failure();
    output_.complete(std::exchange(lent_output_, 0));
    const std::span<std::byte> data = output_.next();
    if (data.empty() && failure_ != nullptr) throw_failure();
    lent_output_ = data.size();
    at_end_ = data.empty();
    return data;
  }

  void rewind() {
    if (!repeatable_) {
      throw Error(ErrorCode::usage, "a sorter is rewound only with sorter_options::repeatable");
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

  const SortReport& report() {
    if (!at_end_) throw Error(ErrorCode::usage, "a sorter reports when all has been pulled");
    wait_until_done();
    return report_;
  }

 private:
  enum class Wanted { nothing, again, end };

  // From any thread.
  void stop() {
    stop_.request_stop();
    input_.answer(Answer::cancelled);
    output_.answer(Answer::cancelled);
  }

  // Starts the job, if that has not been done.
  void begin() {
    if (has_failed_) throw_failure();
    if (thread_) return;
    thread_ = Thread::start(
        "sorting", [this] { work(); }, Thread::kLargeStackBytes);
  }

  void work() noexcept {
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
      input_.close();
      output_.close();
      std::unique_lock lock(mutex_);
      is_done_ = true;
      changed_.notify_all();
      changed_.wait(lock, [this] { return wanted_ != Wanted::nothing; });
      wanted = std::exchange(wanted_, Wanted::nothing);
    }
    sort_.reset();
  }

  void tell(Wanted wanted) {
    {
      std::lock_guard lock(mutex_);
      wanted_ = wanted;
      is_done_ = false;
    }
    changed_.notify_all();
  }

  void wait_until_done() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_done_; });
  }

  [[noreturn]] void throw_failure() {
    wait_until_done();
    has_failed_ = true;
    std::rethrow_exception(failure_);
  }

  io::CallerQueue input_;
  io::CallerQueue output_;
  std::stop_source stop_;  // by the resources, or the destructor
  Grant grant_;
  const bool repeatable_;
  std::unique_ptr<CallerSort> sort_;
  std::size_t lent_ = 0;         // of input_
  std::size_t lent_output_ = 0;  // of output_
  bool sealed_ = false;          // no more input
  bool at_end_ = false;          // no more output
  bool has_failed_ = false;      // and the caller knows
  SortReport report_;            // of run()
  std::exception_ptr failure_;   // before the queues are closed: theirs is the lock
  std::mutex mutex_;
  std::condition_variable changed_;
  Wanted wanted_ = Wanted::nothing;  // of the thread, when it is done with the last
  bool is_done_ = false;
  OnStop on_stop_;
  Thread thread_;  // last: uses the others
};

SorterCore::SorterCore(const resources& shared, const SorterSpec& spec)
    : job_(std::make_unique<Job>(shared, spec)) {}
SorterCore::~SorterCore() = default;
std::span<std::byte> SorterCore::room() {
  return job_->room();
}
void SorterCore::end(std::size_t bytes) {
  job_->end(bytes);
}
std::span<const std::byte> SorterCore::next() {
  return job_->next();
}
void SorterCore::rewind() {
  job_->rewind();
}
const SortReport& SorterCore::report() const {
  return job_->report();
}

}  // namespace xxl::detail
