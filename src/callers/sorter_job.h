// What the sorts of sorters have in common: of fixed-size records (callers/sorter_core.cc) and of
// records of any length (callers/any_length_sort.cc).
#pragma once

#include <any>
#include <functional>
#include <memory>
#include <stop_token>

#include "callers/shared_resources.h"
#include "io/io_queue.h"
#include "job/caller_sort.h"
#include "job/job.h"
#include "xxl/job.h"
#include "xxl/sorter_core.h"

namespace xxl::detail {

// What a sort needs from its sorter.
struct SorterJob {
  const Grant& grant;
  const SorterSpec& spec;
  io::IoQueue& input;
  io::IoQueue& output;
  const std::stop_token& stop;

  // Options of a sort of records of any kind.
  template <class Options>
  Options options() const {
    const sorter_options& wanted = spec.options;
    Options options;
    grant.give_to(options);
    static_cast<JobMeans&>(options) = grant.means();
    options.stop = stop;
    using Traffic = std::function<FileTraffic()>;
    if (const auto* traffic = std::any_cast<Traffic>(&spec.file_traffic)) {
      options.file_traffic = *traffic;
    }
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
};

// The engine for records of any length. Only programs that have such records are linked with it.
class AnyLengthEngine {
 public:
  virtual ~AnyLengthEngine() = default;
  // `shared`: the job of several ranks that the sort is part of, or null.
  virtual std::unique_ptr<CallerSort> make(const SorterJob& job, SharedJob* shared) const = 0;
};

}  // namespace xxl::detail
