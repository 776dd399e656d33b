// Sorters of programs: a sort whose input and output are queues of its caller.
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/thread.h"
#include "engine/callers/key_fields.h"
#include "engine/callers/shared_resources.h"
#include "engine/inputs.h"
#include "engine/record_sort/sorting.h"
#include "io/caller_queue.h"
#include "record/key_labels.h"
#include "record/record_format.h"
#include "xxl/sorter.h"

namespace xxl::detail {
namespace {

using Answer = io::CallerQueue::Answer;

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

SortOptions options_of(const resources& given, const SorterSpec& spec, std::uint64_t memory_bytes,
                       io::IoQueue& output) {
  const resource_options& shared = given.options();
  SortOptions options;
  options.queue_factory = given.shared()->queue_factory;
  options.format = format_of(spec);
  options.memory_bytes = memory_bytes;
  options.scratch_dirs = shared.scratch_dirs;
  options.parallel = shared.threads;
  options.backend = shared.backend;
  options.temp_codec = shared.scratch_codec;
  options.temp_level = shared.scratch_level;
  options.compressed_by_suffix = false;
  options.output = "the sorter's output";
  options.output_caller = &output;
  options.unique = spec.options.unique;
  options.limit = spec.options.limit;
  options.repeatable = spec.options.repeatable;
  return options;
}

Inputs input_of(io::IoQueue& queue, std::uint64_t expected_bytes) {
  Inputs inputs;
  inputs.files.push_back(io::File::of_caller(queue, "the sorter's input"));
  inputs.size_known = false;
  inputs.bytes = expected_bytes;
  return inputs;
}

std::unique_ptr<Sorting> make_sorting(const SortOptions& options, const SorterSpec& spec,
                                      io::IoQueue& input) {
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

std::uint64_t part_of(const resource_options& shared, const SorterSpec& spec) {
  return spec.options.memory_bytes != 0 ? spec.options.memory_bytes
                                        : shared.memory_bytes / shared.users;
}

}  // namespace

// All but body() by the thread of the caller.
class SorterCore::Job {
 public:
  Job(const resources& shared, const SorterSpec& spec)
      : grant_(shared.shared(), part_of(shared.options(), spec)),
        options_(options_of(shared, spec, grant_.bytes(), output_)),
        sorting_(make_sorting(options_, spec, input_)) {}

  ~Job() {
    sorting_->give_up();
    input_.answer(Answer::cancelled);
    output_.answer(Answer::cancelled);
    input_.complete(0);
    output_.complete(0);
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
    if (!thread_ && failure_ != nullptr) throw_failure();
    output_.complete(std::exchange(lent_output_, 0));
    const std::span<std::byte> data = output_.next();
    if (data.empty() && failure_ != nullptr) throw_failure();
    lent_output_ = data.size();
    return data;
  }

  void rewind() {
    if (!options_.repeatable) {
      throw Error(ErrorCode::usage, "a sorter is rewound only with sorter_options::repeatable");
    }
    sorting_->stop_writing();
    output_.answer(Answer::all);
    output_.complete(std::exchange(lent_output_, 0));
    thread_.join();
    if (failure_ != nullptr) throw_failure();
    output_.reopen();
    start([this] { sorting_->write_again(); });
  }

 private:
  // Starts the job, if that has not been done.
  void begin() {
    if (!thread_ && failure_ != nullptr) throw_failure();
    if (!std::exchange(started_, true)) start([this] { sorting_->run(); });
  }

  void start(std::function<void()> work) {
    thread_ = Thread::start(
        "sorting", [this, work = std::move(work)] { body(work); }, Thread::kLargeStackBytes);
  }

  void body(const std::function<void()>& work) noexcept {
    try {
      work();
    } catch (...) {
      failure_ = std::current_exception();
    }
    input_.close();
    output_.close();
  }

  [[noreturn]] void throw_failure() {
    thread_.join();
    std::rethrow_exception(failure_);
  }

  io::CallerQueue input_;
  io::CallerQueue output_;
  MemoryGrant grant_;
  const SortOptions options_;
  const std::unique_ptr<Sorting> sorting_;
  std::size_t lent_ = 0;         // of input_
  std::size_t lent_output_ = 0;  // of output_
  bool started_ = false;
  bool sealed_ = false;         // no more input
  std::exception_ptr failure_;  // before the queues are closed: theirs is the lock
  Thread thread_;               // last: uses the others
};

SorterCore::SorterCore(const resources& shared, SorterSpec spec)
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

}  // namespace xxl::detail
