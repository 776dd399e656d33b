// Sorting files larger than memory: the public entry.
#pragma once

#include <cstdint>

#include "job/fixed_sort/fixed_sort_options.h"
#include "xxl/sort.h"

namespace xxl {

// What sort would do. Throws Error for bad options, missing files, a file that is not a whole
// number of records, and a budget that is too small, all before anything is written.
SortPlan plan_sort(const FixedSortOptions& options);

// Sorts. When it returns, the output is complete and checked; when it throws Error, the output does
// not exist or is what it was before (standard output excepted).
SortReport fixed_sort(const FixedSortOptions& options);

// sort -c: options.inputs has one file. Nothing is written.
OrderCheck check_order(const FixedSortOptions& options);

}  // namespace xxl
