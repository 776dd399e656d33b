// A join of records of a fixed size as one of text whose records and rows have a fixed size.
#pragma once

#include "job/join/fixed_join_options.h"
#include "job/join/general_join_options.h"

namespace xxl {

// Its rows are those of `join`, in the order of keys. Throws Error{usage} if the formats of the two
// sides, or the layout, do not fit.
GeneralJoinOptions join_as_general(const FixedJoinOptions& join);

}  // namespace xxl
