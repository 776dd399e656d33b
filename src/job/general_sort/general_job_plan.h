// How a general sort divides memory, threads and work, from its options and its inputs.
#pragma once

#include <optional>
#include <string>

#include "job/general_sort/general_memory.h"
#include "job/general_sort/general_plan.h"
#include "job/general_sort/general_sort_options.h"
#include "job/general_sort/long_records.h"
#include "job/inputs.h"
#include "sort/accelerator.h"
#include "xxl/sort.h"

namespace xxl {

struct PlannedGeneral {
  GeneralPlanInput input;
  std::optional<AcceleratorPlan> accelerator;
  std::string no_accelerator;  // why not, if it could have been used
};

// Whether the calling thread does it alone.
bool is_little(const GeneralSortOptions& options, const Inputs& inputs);

// Throws Error: memory is too small, or an accelerator that must be used cannot be.
PlannedGeneral plan_general_job(const GeneralSortOptions& options, const Inputs& inputs);

// How the memory would be divided for `needs`; nothing if it is too small.
std::optional<GeneralGeometry> geometry_for(const GeneralSortOptions& options, const Inputs& inputs,
                                            const LongRecords& needs);
std::optional<GeneralGeometry> geometry_for(GeneralPlanInput input, const LongRecords& needs);

// The plan as --explain tells it. `memory`: as it is divided for `planned`.
SortPlan plan_of(const GeneralSortOptions& options, const Inputs& inputs,
                 const PlannedGeneral& planned, const GeneralMemory& memory, bool is_little);

}  // namespace xxl
