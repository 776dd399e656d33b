// What the ranks of a sort did, told by rank 0.
#pragma once

#include <string>

#include "cluster/cluster_sort.h"
#include "cluster/peers.h"
#include "xxl/job.h"

namespace xxl::cli {

// A step of all ranks. --stats=FORMAT of a sort of `options`, of records of kind
// `record`: a text on rank 0, empty on others.
std::string cluster_stats(const std::string& format, const std::string& record,
                          const FileJob& options, const ClusterReport& report, Peers& peers);

}  // namespace xxl::cli
