// Sorts records of a fixed size on several machines: a canonical mergesort, after Rahn, Sanders and
// Singler, "Scalable distributed-memory external sorting", ICDE 2010 (docs/internals/cluster.md).
//
//     input_share     each rank reads its share of the input
//     (record_sort)   and forms sorted runs of it, in its own scratch
//     run_split       the runs of all ranks are cut into parts of equal size, one for each rank
//     run_slices      each rank is told where the slices of its part are
//     remote_blocks   and merges them: blocks come in predicted order from those that have them
//     rank_output     to where all see the output
#pragma once

#include <cstdint>
#include <string>

#include "cluster/peers.h"
#include "job/fixed_sort/fixed_sort_options.h"
#include "xxl/job.h"

namespace xxl {

struct ClusterReport : Measurements {
  std::uint64_t records = 0;         // of this rank's part of the output
  std::uint64_t all_records = 0;     // of all
  std::uint64_t checksum = 0;        // of the output of all ranks (MultisetHash)
  std::uint64_t runs = 0;            // of this rank
  std::uint64_t merged_runs = 0;     // of all ranks: those with records for this one
  std::uint64_t bytes_received = 0;  // of blocks of other machines
  std::vector<RowFaults> rows;       // of this rank's shares of the inputs, if these are text
  std::string device = "cpu";        // that formed the runs of this rank, as SortPlan has it
};

// A step of all ranks, which must be given the same options. Of these, the inputs and the output
// may be anything that open_share() and RankOutput take. A range (`skip`, `limit`) is of records,
// not of groups: it excludes `unique` and `fold`. Accelerators are used by all ranks or by none, so
// not `if_it_pays`. When it returns, the output is complete and checked. When it fails,
// Peers::fail() is told first, and then Error thrown.
ClusterReport cluster_sort(const FixedSortOptions& options, Peers& peers);

}  // namespace xxl
