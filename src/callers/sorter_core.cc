// Sorters of programs: a sort whose input and output are queues of its caller.
#include <cstddef>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/of_process.h"
#include "callers/caller_job.h"
#include "callers/key_fields.h"
#include "callers/shared_resources.h"
#include "job/caller_sort.h"
#include "job/fixed_sort/fixed_sorting.h"
#include "job/general_sort/general_sort.h"
#include "job/inputs.h"
#include "record/caller_keys.h"
#include "record/key_labels.h"
#include "record/record_format.h"
#include "xxl/sorter_core.h"

namespace xxl::detail {
namespace {

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
Options options_of(const Grant& grant, const SorterSpec& spec, io::IoQueue& output,
                   const std::stop_token& stop) {
  const sorter_options& wanted = spec.options;
  Options options;
  grant.give_to(options);
  static_cast<JobMeans&>(options) = grant.means();
  options.stop = stop;
  options.file_traffic = spec.file_traffic;
  options.compressed_by_suffix = false;
  options.output = "the sorter's output";
  options.output_caller = &output;
  options.unique = wanted.unique;
  options.skip = wanted.skip;
  options.limit = wanted.limit;
  options.repeatable = wanted.repeatable;
  options.progress = wanted.progress;
  return options;
}

std::unique_ptr<CallerSort> sort_of_records(FixedSortOptions options, const SorterSpec& spec,
                                            io::IoQueue& input) {
  options.format = format_of(spec);
  const auto make = [&](std::uint64_t expected_bytes) {
    auto sorting =
        std::make_unique<FixedSorting>(options, input_of_caller(input, {}, expected_bytes));
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

std::unique_ptr<CallerSort> sort_of_any_length(GeneralSortOptions options, const SorterSpec& spec,
                                               io::IoQueue& input, SharedJob* shared) {
  if (spec.options.expected_records != 0) {
    throw Error(ErrorCode::usage,
                "sorter_options::expected_records is for records of a fixed size");
  }
  options.syntax.counted = true;
  options.shared = shared;
  if (spec.length == RecordLength::any) {
    options.keys = std::make_shared<RecordAsKey>(spec.descending);
  } else {
    options.keys = std::make_shared<LeadingKey>();
  }
  return make_general_caller_sort(options, input_of_caller(input));
}

std::unique_ptr<CallerSort> make_sort(const Grant& grant, const SorterSpec& spec,
                                      io::IoQueue& input, io::IoQueue& output,
                                      const std::stop_token& stop, SharedJob* shared) {
  if (spec.length == RecordLength::fixed) {
    return sort_of_records(options_of<FixedSortOptions>(grant, spec, output, stop), spec, input);
  }
  return sort_of_any_length(options_of<GeneralSortOptions>(grant, spec, output, stop), spec, input,
                            shared);
}

}  // namespace

class SorterCore::Job : public CallerJob {
 public:
  Job(const resources& shared, const SorterSpec& spec)
      : CallerJob(
            shared, spec.options.memory_bytes, 1,
            [&](const Grant& grant, Inputs& inputs, io::IoQueue& output,
                const std::stop_token& stop) {
              return make_sort(grant, spec, inputs.front(), output, stop, shared.shared()->job);
            },
            "a sorter"),
        repeatable_(spec.options.repeatable) {}

  void rewind() {
    if (!repeatable_) {
      throw Error(ErrorCode::usage, "a sorter is rewound only with sorter_options::repeatable");
    }
    CallerJob::rewind();
  }

 private:
  const bool repeatable_;
};

SorterCore::SorterCore(const resources& shared, const SorterSpec& spec)
    : job_(std::make_unique<Job>(shared, spec)) {}
SorterCore::~SorterCore() {
  leave_to_parent(job_);
}
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
