// The slices of the runs of all ranks that a rank merges: as runs, of which it knows the blocks,
// and fetches them from the ranks that have them.
//
//     run of rank 1   | b0 | b1 | b2 | b3 |
//     cuts               ^         ^
//     slice           [  ----------- ]       a run of b0 to b2, of which some records are skipped
//
// Blocks are fetched whole: the first and the last one of a slice may go to two ranks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cluster/local_scratch.h"
#include "cluster/peers.h"
#include "cluster/run_split.h"
#include "run/general_run.h"
#include "run/run.h"

namespace xxl {

// Where the blocks of a slice are.
struct SliceOrigin {
  std::uint32_t rank = 0;
  std::uint32_t run = 0;
};

template <class R>
struct RunSlices {
  std::vector<R> runs;  // in the order of ranks and of their runs; without empty ones
  std::vector<SliceOrigin> origins;
};

// A step of all ranks, which gives each what it merges: of `runs`, those of this rank, what lies
// between `cuts`. `scratch` tells who reads blocks of this one itself.
RunSlices<Run> exchange_slices(const std::vector<Run>& runs, const RunCuts& cuts,
                               const LocalScratch& scratch, Peers& peers);

// The same, with `cuts` as of choose_key_cuts(): a block that one may fall into goes to both ranks,
// which leave out what is not in their range. Other ranks call the first of `runs` `first_run`.
RunSlices<GeneralRun> exchange_slices(std::span<const GeneralRun* const> runs,
                                      std::uint32_t first_run, const std::vector<std::string>& cuts,
                                      const LocalScratch& scratch, Peers& peers);

}  // namespace xxl
