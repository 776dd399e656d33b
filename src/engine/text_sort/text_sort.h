// Sorting lines and rows of text, of any size and number: the public entry.
//
// How it works: docs/text.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/caller_sort.h"
#include "engine/inputs.h"
#include "engine/text_sort/text_sort_options.h"
#include "xxl/sort.h"

namespace xxl {

// Sorts (or, with merge_only, merges). When it returns, the output is complete and checked; when it
// throws Error, the output does not exist or is what it was before (streams excepted). In the
// report, records_out counts what was written (a header not), skipped what was malformed.
SortReport text_sort(const TextSortOptions& options);
SortPlan plan_text_sort(const TextSortOptions& options);

// Of a caller's records: `inputs` is the caller, and so is the output of `options`.
std::unique_ptr<CallerSort> make_text_caller_sort(const TextSortOptions& options, Inputs inputs);
SortPlan plan_text_caller_sort(const TextSortOptions& options, Inputs inputs);

// First record that is out of order (with `unique`: not strictly ascending); options.inputs has one
// file.
OrderCheck check_text_order(const TextSortOptions& options);

}  // namespace xxl
