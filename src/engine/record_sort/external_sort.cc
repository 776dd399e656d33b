// The public entry to sorting binary records.
#include "engine/record_sort/external_sort.h"

#include "engine/attempts.h"
#include "engine/record_sort/sorting.h"

namespace xxl {

SortPlan plan_sort(const SortOptions& options) {
  const Sorting sorting(options);
  SortPlan plan = sorting.plan();
  plan.backend = sorting.planned_backend();
  return plan;
}

SortReport external_sort(const SortOptions& options) {
  return run_attempts(
      {}, [&](const Attempt& attempt) { return Sorting(for_attempt(attempt, options)); });
}

}  // namespace xxl
