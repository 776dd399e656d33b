// The public entry to sorting binary records.
#include "engine/record_sort/external_sort.h"

#include "engine/record_sort/sorting.h"
#include "engine/start_again.h"

namespace xxl {

SortPlan plan_sort(const SortOptions& options) {
  const Sorting sorting(options);
  SortPlan plan = sorting.plan();
  plan.backend = sorting.planned_backend();
  return plan;
}

SortReport external_sort(const SortOptions& options) {
  return run_or_start_again<Sorting>(options);
}

}  // namespace xxl
