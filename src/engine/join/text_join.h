// Joining two inputs of lines or rows, of any size and in any order: the public entry.
//
// How it works: docs/joining.md.
#pragma once

#include "engine/join/text_join_options.h"

namespace xxl {

// Joins. When it returns, the output is complete and checked; when it throws Error, the output does
// not exist or is what it was before (streams excepted).
JoinReport text_join(const TextJoinOptions& options);
JoinPlan plan_text_join(const TextJoinOptions& options);

}  // namespace xxl
