// The general sort, of any number of records of any length: the public entry.
//
// How it works: docs/internals/general-sort.md.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/checksum.h"
#include "io/file.h"
#include "job/caller_sort.h"
#include "job/general_sort/general_sort_options.h"
#include "job/inputs.h"
#include "record/key_extractor.h"
#include "xxl/sort.h"

namespace xxl {

// Sorts (or, with merge_only, merges). When it returns, the output is complete and checked; when it
// throws Error, the output does not exist or is what it was before (streams excepted). In the
// report, records_out counts what was written (a header not), skipped what was malformed.
SortReport general_sort(const GeneralSortOptions& options);
SortPlan plan_general_sort(const GeneralSortOptions& options);

// Of a caller's records: `inputs` is the caller, and so is the output of `options`.
std::unique_ptr<CallerSort> make_general_caller_sort(const GeneralSortOptions& options,
                                                     Inputs inputs);
SortPlan plan_general_caller_sort(const GeneralSortOptions& options, Inputs inputs);

// First record that is out of order (with `unique`: not strictly ascending); options.inputs has one
// file.
OrderCheck check_general_order(const GeneralSortOptions& options);

// What is read back of an output that is verified (docs/internals/checksums.md): throws
// Error{corrupt} unless the records of `output`, a file of a caller, are in the order of `keys`, as
// `options` wanted, and have this `sum`. In `memory`, or a little of its own; ends where that is
// too little for two neighbours. Takes over `output`.
void check_sorted_general(const GeneralSortOptions& options,
                          std::shared_ptr<const KeyExtractor> keys, const MultisetHash& sum,
                          io::File& output, std::span<std::byte> memory);

}  // namespace xxl
