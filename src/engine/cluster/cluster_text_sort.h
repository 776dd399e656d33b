// Sorts lines on several machines (docs/cluster.md).
//
//     input_share     each rank reads its share of the input
//     (text_sort)     and forms sorted runs of it, in its own scratch
//     text_slices     the runs of all ranks are cut into ranges of keys, one for each rank
//     remote_blocks   which merges them: blocks come in predicted order from those that have them
//     rank_directory  to a part of its own
#pragma once

#include "engine/cluster/cluster_sort.h"
#include "engine/cluster/peers.h"
#include "engine/text_sort/text_sort_options.h"

namespace xxl {

// As cluster_sort(). The output is a directory; without tags. A range (`skip`, `limit`) is merged
// by rank 0 alone.
ClusterReport cluster_text_sort(const TextSortOptions& options, Peers& peers);

}  // namespace xxl
