// Options of a join of records of fixed sizes.
#pragma once

#include <array>
#include <string>

#include "job/join/join_options.h"
#include "record/record_format.h"

namespace xxl {

struct FixedJoinOptions : JoinOptions {
  // Their keys are compared field by field: as many fields, of the same types and lengths, wherever
  // they lie and in whatever byte order they are stored. Directions (descending) must agree.
  std::array<RecordFormat, kJoinSides> formats;
  // What a row consists of; empty: the key once, then R's other bytes, then S's; of semi and anti,
  // R's record. Otherwise a list separated by commas: 0 (the key), 1.OFFSET:BYTES, 2.OFFSET:BYTES
  // (bytes of R's record, of S's), m (one byte: 1 if the row has an R, plus 2 if it has an S).
  // Bytes of a missing record are zero.
  std::string layout;
};

}  // namespace xxl
