// A sort-merge join of files of binary records. See docs/internals/joining.md.
#pragma once

#include "job/join/fixed_join_options.h"

namespace xxl {

// As fixed_join() and plan_join(), by this method whatever options.method says.
JoinReport sort_merge_join(const FixedJoinOptions& options);
JoinPlan plan_sort_merge_join(const FixedJoinOptions& options);

}  // namespace xxl
