// Joining files of binary records, of any size and in any order: the public entry.
//
// How it works: docs/joining.md. Sources: Maltenberger, "Efficiently Joining Large Relations on
// Multi-GPU Systems with Modern Interconnects" (2024), section 3.3, for the join of sorted streams;
// Lutz et al., "Pump Up the Volume" (SIGMOD 2020), section 5, for the hash join.
#pragma once

#include <array>
#include <string>

#include "pipeline/join_options.h"
#include "record/record_format.h"

namespace xxl {

struct RecordJoinOptions : JoinOptions {
  // Their keys are compared field by field: as many fields, of the same types and lengths, wherever
  // they lie and in whatever byte order they are stored. Directions (descending) must agree.
  std::array<RecordFormat, kJoinSides> formats;
  // What a row consists of; empty: the key once, then R's other bytes, then S's; of semi and anti,
  // R's record. Otherwise a list separated by commas: 0 (the key), 1.OFFSET:BYTES, 2.OFFSET:BYTES
  // (bytes of R's record, of S's), m (one byte: 1 if the row has an R, plus 2 if it has an S).
  // Bytes of a record that a row has not are zero.
  std::string layout;
};

// What join would do. Throws Error for bad options, missing files, a file that is not a whole
// number of records, and a budget that is too small, all before anything is written.
JoinPlan plan_join(const RecordJoinOptions& options);

// Joins. When it returns, the output is complete and checked; when it throws Error, the output does
// not exist or is what it was before (standard output excepted).
JoinReport external_join(const RecordJoinOptions& options);

}  // namespace xxl
