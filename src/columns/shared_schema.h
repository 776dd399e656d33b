// One schema out of those of several ranks (docs/internals/cluster.md).
#pragma once

#include "cluster/peers.h"
#include "columns/column_type.h"

namespace xxl {

// A step of all ranks: `own` with the metadata of rank 0. Throws Error{bad_input} if it has other
// columns than that. Without `peers` it is `own`.
ColumnType share_schema(const ColumnType& own, Peers* peers);

}  // namespace xxl
