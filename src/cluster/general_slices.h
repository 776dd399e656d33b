// The runs of all ranks of a general sort or join, cut into a range of keys for each rank.
//
// Cuts are chosen among the triggers of blocks, so no block need be read for them, and parts differ
// by a block of each run, about. Records with equal keys stay together.
//
//     run of rank 1   | ant | cow | dog | owl | yak |     triggers of blocks
//     cuts                     ^d          ^p
//     slices          [ ant  cow ]
//                           [ cow dog owl ]               a block that a cut may fall into goes to
//                                   [ owl yak ]           both ranks, which leave out what is not
//                                                         in their range
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cluster/local_scratch.h"
#include "cluster/peers.h"
#include "cluster/sliced_blocks.h"
#include "merge/general_cells.h"
#include "run/general_run.h"

namespace xxl {

// A step of all ranks: what separates the ranges, fewer than there are ranks, in ascending order.
// `runs` are those of this rank.
std::vector<std::string> choose_key_cuts(std::span<const GeneralRun* const> runs, Peers& peers);

// Of rank `rank`; nothing if there are fewer ranges.
std::optional<KeyRange> range_of_rank(const std::vector<std::string>& cuts, unsigned rank);

struct GeneralSlices {
  std::vector<std::unique_ptr<GeneralRun>> runs;  // in the order of ranks and of their runs
  std::vector<SliceOrigin> origins;
};

// A step of all ranks, which gives each what it merges. Other ranks call the first of `runs`
// `first_run`. `scratch` tells who reads blocks of this one itself.
GeneralSlices exchange_slices(std::span<const GeneralRun* const> runs, std::uint32_t first_run,
                              const std::vector<std::string>& cuts, const LocalScratch& scratch,
                              Peers& peers);

}  // namespace xxl
