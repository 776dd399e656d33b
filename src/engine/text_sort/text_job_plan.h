// How a sort of text divides memory, threads and work, from its options and its inputs.
#pragma once

#include <optional>
#include <string>

#include "engine/inputs.h"
#include "engine/text_sort/long_records.h"
#include "engine/text_sort/text_plan.h"
#include "engine/text_sort/text_sort_options.h"
#include "sort/accelerator.h"

namespace xxl {

struct PlannedText {
  TextPlanInput input;
  std::optional<AcceleratorPlan> accelerator;
  std::string no_accelerator;  // why not, if it could have been used
};

// Whether the calling thread does it alone.
bool is_little(const TextSortOptions& options, const Inputs& inputs);

// Throws Error: memory is too small, or an accelerator that must be used cannot be.
PlannedText plan_text_job(const TextSortOptions& options, const Inputs& inputs);

// How the memory would be divided for `needs`; nothing if it is too small.
std::optional<TextGeometry> geometry_for(const TextSortOptions& options, const Inputs& inputs,
                                         const LongRecords& needs);
std::optional<TextGeometry> geometry_for(TextPlanInput input, const LongRecords& needs);

}  // namespace xxl
