// Plans the sort of binary records: on the CPU, or with an accelerator, as the options allow.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "job/fixed_sort/fixed_sort_options.h"
#include "job/fixed_sort/plan.h"
#include "job/inputs.h"
#include "record/key_layout.h"
#include "sort/accelerator.h"
#include "xxl/sort.h"

namespace xxl {

struct PlannedSort {
  Geometry geometry;
  SortPlan plan;
  std::optional<AcceleratorPlan> accelerator;  // if it is used
  bool is_little = false;                      // done by the calling thread alone
};

// What of a sort is not in its options.
struct SortSurroundings {
  // Memory that the last merge may take; 0: all. If limited, its output is not written, but waits
  // in memory.
  std::uint64_t merge_memory_bytes = 0;
  bool may_stay_in_memory = true;  // without scratch, if all of the input fits
  bool in_order = false;           // runs must be sorted to the last record
  // Of several ranks, which merge the runs of all: how many, and the largest of their inputs.
  unsigned ranks = 1;
  std::uint64_t largest_input_bytes = 0;
  // Makes what an accelerator has that which all of them plan with.
  std::function<void(AcceleratorPlan&)> agree = {};
};

PlannedSort plan_sort_on_cpu(const FixedSortOptions& options, const KeyLayout& layout,
                             const Inputs& inputs, const SortSurroundings& surroundings = {});

// Plans as the options say. Throws Error{device} if an accelerator is required and cannot be used.
PlannedSort make_sort_plan(const FixedSortOptions& options, const KeyLayout& layout,
                           const Inputs& inputs, const SortSurroundings& surroundings = {});

}  // namespace xxl
