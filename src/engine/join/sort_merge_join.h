// A sort-merge join of files of binary records. See docs/joining.md.
#pragma once

#include "engine/join/record_join_options.h"

namespace xxl {

// As external_join() and plan_join(), by this method whatever options.method says.
JoinReport sort_merge_join(const RecordJoinOptions& options);
JoinPlan plan_sort_merge_join(const RecordJoinOptions& options);

}  // namespace xxl
