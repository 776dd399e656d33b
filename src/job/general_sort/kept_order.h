// sort -u --keep-order: of records with equal keys the first, where it stood in the input.
//
//     input         b a b c a          places 0 1 2 3 4
//     by key        1a 4a 0b 2b 3c     tagged with their places; of each key the first: 1a 0b 3c
//     by place      0b 1a 3c
//     output        b a c
//
// Two sorts: what the merge of the first one gives are the records of which the second one forms
// runs, so that nothing lies between them but memory.
#pragma once

#include "job/general_sort/general_sort_options.h"
#include "xxl/sort.h"

namespace xxl {

// As general_sort(), of `options` with unique, without fold, merge_only, part_by and an
// accelerator.
SortReport sort_in_kept_order(const GeneralSortOptions& options);
SortPlan plan_sort_in_kept_order(const GeneralSortOptions& options);

}  // namespace xxl
