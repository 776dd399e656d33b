// Joins binary records by a table of one input in memory; the other is read once.
//
// How it works: docs/internals/joining.md. Source: Lutz et al., "Pump Up the Volume" (SIGMOD 2020),
// section 5.1 (no-partitioning hash join, the probe side streamed) and 6.1 (work given out by
// morsels).
#pragma once

#include <optional>
#include <string>

#include "job/join/fixed_join_options.h"
#include "job/join/hash_plan.h"

namespace xxl {

// What hash_join() would do: the input with the smaller table is held in memory, if its size is
// known. Nothing if it cannot be done; `reason` then says why in a few words, else why the input
// was chosen. Throws Error for bad options, missing files, and a file that is not a whole number of
// records.
std::optional<JoinPlan> plan_hash_join(const FixedJoinOptions& options, std::string& reason);

// Joins, as fixed_join() does, whatever options.method says. Rows come in the order of the input
// that is not in the table, those of one record in the order of the table's input; after them, in
// the order of the table's input, rows of its records alone. (Where semi and anti have R in the
// table, these are all.) Whether the inputs are presorted is neither used nor checked. Throws Error
// also if plan_hash_join() gives nothing.
JoinReport hash_join(const FixedJoinOptions& options);

}  // namespace xxl
