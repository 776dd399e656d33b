// The public entry to sorting binary records.
#include "pipeline/external_sort.h"

#include <string>

#include "base/error.h"
#include "pipeline/sorting.h"

namespace xxl {

SortPlan plan_sort(const SortOptions& options) {
  SortPlan plan = Sorting(options).plan();
  if (!options.queue_factory) plan.backend = io::IoService(options.backend, {}).backend_name();
  return plan;
}

SortReport external_sort(const SortOptions& options) {
  std::string failure;
  {
    Sorting sorting(options);
    try {
      return sorting.run();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::device || !sorting.may_start_again()) throw;
      failure = error.what();
    }
  }
  // Nothing has been lost: the input is as it was, and nothing has appeared.
  SortOptions on_cpu = options;
  on_cpu.acceleration = Acceleration::never;
  SortReport report = Sorting(on_cpu).run();
  report.plan.no_accelerator = failure;
  return report;
}

}  // namespace xxl
