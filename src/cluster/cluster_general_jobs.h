// Sorts lines or rows, and joins lines, rows or records of a fixed size, on several machines
// (docs/internals/cluster.md).
#pragma once

#include "cluster/cluster_sort.h"
#include "cluster/peers.h"
#include "job/general_sort/general_sort_options.h"
#include "job/join/general_join_options.h"

namespace xxl {

// As cluster_sort(); without tags. A range (`skip`, `limit`) is merged by rank 0 alone.
ClusterReport cluster_general_sort(const GeneralSortOptions& options, Peers& peers);

// As cluster_sort(), with rows for records. Inputs are anything that open_share() takes, and are
// sorted, as if none were. If rows are only counted, ClusterReport::all_records is their number.
ClusterReport cluster_general_join(const GeneralJoinOptions& options, Peers& peers);

}  // namespace xxl
