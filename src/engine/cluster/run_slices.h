// The slices of the runs of all ranks that a rank merges: as runs, of which it knows the blocks,
// and fetches them from the ranks that have them.
//
//     run of rank 1   | b0 | b1 | b2 | b3 |
//     cuts               ^         ^
//     slice           [  ----------- ]       a Run of b0 to b2, with `skipped` records
//
// Blocks are fetched whole: the first and the last one of a slice go to two ranks. The place of a
// block is where it lies, if the rank that merges it can read it there; otherwise it is its number
// in the run, by which it is fetched.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/cluster/local_scratch.h"
#include "engine/cluster/peers.h"
#include "engine/cluster/run_split.h"
#include "run/run.h"
#include "run/run_store.h"

namespace xxl {

// Where the blocks of a slice are.
struct SliceOrigin {
  std::uint32_t rank = 0;
  std::uint32_t run = 0;
};

struct RunSlices {
  std::vector<Run> runs;  // in the order of ranks and of their runs; without empty ones
  std::vector<SliceOrigin> origins;
};

// A step of all ranks, which gives each what it merges: of `runs`, those of this rank, what lies
// between `cuts`. `scratch` tells who reads these itself.
RunSlices exchange_slices(const std::vector<Run>& runs, const RunCuts& cuts,
                          const LocalScratch& scratch, Peers& peers);

}  // namespace xxl
