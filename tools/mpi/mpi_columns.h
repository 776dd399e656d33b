// xxl-mpi sort and join of columns: --record=parquet and --record=arrow.
#pragma once

#include "cli/parse_options.h"
#include "cluster/cluster_sort.h"
#include "cluster/peers.h"
#include "job/job.h"
#include "join/join_arguments.h"

namespace xxl::cli {

// Steps of all ranks, as cluster_sort() and cluster_general_join(). `job` has what sorts and joins
// of all records have: output, memory, scratch space, threads. Throws Error.
ClusterReport sort_columns(const ParsedOptions& options, const JobOptions& job, Peers& peers);
ClusterReport join_columns(const JoinArguments& arguments, const JobOptions& job, Peers& peers);

}  // namespace xxl::cli
