// Sorts lines or rows on several machines (docs/cluster.md).
#pragma once

#include "cluster/cluster_sort.h"
#include "cluster/peers.h"
#include "job/general_sort/general_sort_options.h"

namespace xxl {

// As cluster_sort(); without tags. A range (`skip`, `limit`) is merged by rank 0 alone.
ClusterReport cluster_general_sort(const GeneralSortOptions& options, Peers& peers);

}  // namespace xxl
