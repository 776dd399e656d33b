// The slices of the runs of all ranks that a rank merges: as runs, of which it knows the blocks,
// and fetches them from the ranks that have them.
//
//     run of rank 1   | b0 | b1 | b2 | b3 |
//     cuts               ^         ^
//     slice           [  ----------- ]       a Run of b0 to b2, with `skipped` records
//
// Blocks are fetched whole: the first and the last one of a slice go to two ranks.
#pragma once

#include <vector>

#include "cluster/local_scratch.h"
#include "cluster/peers.h"
#include "cluster/run_split.h"
#include "cluster/sliced_blocks.h"
#include "run/run.h"

namespace xxl {

struct RunSlices {
  std::vector<Run> runs;  // in the order of ranks and of their runs; without empty ones
  std::vector<SliceOrigin> origins;
};

// A step of all ranks, which gives each what it merges: of `runs`, those of this rank, what lies
// between `cuts`. `scratch` tells who reads these itself.
RunSlices exchange_slices(const std::vector<Run>& runs, const RunCuts& cuts,
                          const LocalScratch& scratch, Peers& peers);

}  // namespace xxl
