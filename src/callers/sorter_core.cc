// Sorters of programs: a sort whose input and output are queues of its caller.
#include <cstddef>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/of_process.h"
#include "callers/caller_job.h"
#include "callers/key_fields.h"
#include "callers/shared_resources.h"
#include "callers/sorter_job.h"
#include "job/caller_sort.h"
#include "job/fixed_sort/fixed_sorting.h"
#include "job/inputs.h"
#include "record/key_labels.h"
#include "record/record_format.h"
#include "xxl/sorter_core.h"

namespace xxl::detail {
namespace {

using Order = std::shared_ptr<const RecordOrder>;  // null: by keys

RecordFormat format_of(const SorterSpec& spec, const Order& order) {
  RecordFormat format;
  format.name = "records of " + std::to_string(spec.record_bytes) + " bytes";
  format.record_bytes = spec.record_bytes;
  if (order != nullptr) {
    format.labels = std::make_shared<KeyLabels>(order, spec.record_bytes);
    return format;
  }
  format.key = key_fields(spec.key);
  return format;
}

std::unique_ptr<CallerSort> sort_of_records(const SorterJob& job, const Order& order) {
  const SorterSpec& spec = job.spec;
  auto options = job.options<FixedSortOptions>();
  options.format = format_of(spec, order);
  const auto make = [&](std::uint64_t expected_bytes) {
    auto sorting =
        std::make_unique<FixedSorting>(options, input_of_caller(job.input, {}, expected_bytes));
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

}  // namespace

class SorterCore::Job : public CallerJob {
 public:
  Job(const resources& shared, const SorterSpec& spec, Order order)
      : CallerJob(
            shared, spec.options.memory_bytes, 1,
            [&](const Grant& grant, Inputs& inputs, io::IoQueue& output,
                const std::stop_token& stop) {
              const SorterJob job{grant, spec, inputs.front(), output, stop};
              if (spec.any_length == nullptr) return sort_of_records(job, order);
              return spec.any_length->make(job, shared.shared()->job);
            },
            "a sorter", token_of(spec.options.stop)),
        repeatable_(spec.options.repeatable),
        order_(std::move(order)) {}

  // What the comparator threw, on any thread, comes before what follows from it.
  template <class Action>
  auto do_or_rethrow(Action action) {
    if (order_ == nullptr) return action();
    try {
      const auto result = action();
      order_->rethrow();
      return result;
    } catch (const Error&) {
      order_->rethrow();
      throw;
    }
  }

  void rewind() {
    if (!repeatable_) {
      throw Error(ErrorCode::usage, "a sorter is rewound only with sorter_options::repeatable");
    }
    CallerJob::rewind();
  }

 private:
  const bool repeatable_;
  const Order order_;
};

SorterCore::SorterCore(const resources& shared, const SorterSpec& spec)
    : job_(new Job(shared, spec,
                   Order(spec.order.get() != nullptr ? spec.order.get()->clone() : nullptr))) {}
SorterCore::~SorterCore() {
  std::unique_ptr<Job> job(job_);
  leave_to_parent(job);
}
std::span<std::byte> SorterCore::room() {
  return job_->do_or_rethrow([this] { return job_->room(); });
}
void SorterCore::end(std::size_t bytes) {
  job_->end(bytes);
}
std::span<const std::byte> SorterCore::next() {
  return job_->do_or_rethrow([this] { return job_->next(); });
}
void SorterCore::rewind() {
  job_->rewind();
}
const SortReport& SorterCore::report() const {
  return job_->report();
}

}  // namespace xxl::detail
