// Joining files of binary records, of any size and in any order: the public entry.
//
// How it works: docs/internals/joining.md. Sources: Maltenberger, "Efficiently Joining Large
// Relations on Multi-GPU Systems with Modern Interconnects" (2024), section 3.3, for the join of
// sorted streams; Lutz et al., "Pump Up the Volume" (SIGMOD 2020), section 5, for the hash join.
#pragma once

#include "job/join/fixed_join_options.h"

namespace xxl {

// What join would do. Throws Error for bad options, missing files, a file that is not a whole
// number of records, and a budget that is too small, all before anything is written (but an unnamed
// file, to measure the scratch disk).
JoinPlan plan_join(const FixedJoinOptions& options);

// Joins. When it returns, the output is complete and checked; when it throws Error, the output does
// not exist or is what it was before (standard output excepted).
JoinReport fixed_join(const FixedJoinOptions& options);

}  // namespace xxl
