// A join of records of a fixed size as one of text whose records and rows have a fixed size.
#pragma once

#include "engine/join/record_join_options.h"
#include "engine/join/text_join_options.h"

namespace xxl {

// Its rows are those of `join`, in the order of keys. Throws Error{usage} if the formats of the two
// sides, or the layout, do not fit.
TextJoinOptions join_as_text(const RecordJoinOptions& join);

}  // namespace xxl
