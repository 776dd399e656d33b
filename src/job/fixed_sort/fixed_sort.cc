// The public entry to sorting binary records.
#include "job/fixed_sort/fixed_sort.h"

#include "job/fixed_sort/fixed_sorting.h"
#include "job/job_steps.h"

namespace xxl {

SortPlan plan_sort(const FixedSortOptions& options) {
  const FixedSorting sorting(options);
  SortPlan plan = sorting.plan();
  plan.backend = sorting.planned_backend();
  return plan;
}

SortReport fixed_sort(const FixedSortOptions& options) {
  return run_attempts(
      {}, [&](const Attempt& attempt) { return FixedSorting(for_attempt(attempt, options)); });
}

}  // namespace xxl
