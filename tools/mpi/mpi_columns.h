// xxl-mpi sort of columns: --record=parquet and --record=arrow.
#pragma once

#include "cli/parse_options.h"
#include "engine/cluster/cluster_sort.h"
#include "engine/cluster/peers.h"
#include "engine/job.h"

namespace xxl::cli {

// A step of all ranks, as cluster_sort(). `job` has what sorts of all records have: output, memory,
// scratch space, threads. Throws Error.
ClusterReport sort_columns(const ParsedOptions& options, const JobOptions& job, Peers& peers);

}  // namespace xxl::cli
