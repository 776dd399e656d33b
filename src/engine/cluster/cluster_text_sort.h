// Sorts lines or rows on several machines (docs/cluster.md).
#pragma once

#include "engine/cluster/cluster_sort.h"
#include "engine/cluster/peers.h"
#include "engine/text_sort/text_sort_options.h"

namespace xxl {

// As cluster_sort(); without tags. A range (`skip`, `limit`) is merged by rank 0 alone.
ClusterReport cluster_text_sort(const TextSortOptions& options, Peers& peers);

}  // namespace xxl
