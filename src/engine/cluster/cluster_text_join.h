// Joins lines, rows or records of a fixed size on several machines (docs/cluster.md).
#pragma once

#include "engine/cluster/cluster_sort.h"
#include "engine/cluster/peers.h"
#include "engine/join/text_join_options.h"

namespace xxl {

// As cluster_sort(), with rows for records. Inputs are anything that open_share() takes, and are
// sorted, as if none were. If rows are only counted, ClusterReport::all_records is
// their number.
ClusterReport cluster_text_join(const TextJoinOptions& options, Peers& peers);

}  // namespace xxl
