// Where the runs of all ranks of a general sort or join are cut: a range of keys for each rank.
//
// Cuts are chosen among the triggers of blocks, so no block need be read for them, and parts differ
// by a block of each run, about. Records with equal keys stay together.
//
//     run of rank 1   | ant | cow | dog | owl | yak |     triggers of blocks
//     cuts                     ^d          ^p
//     slices          [ ant  cow ]
//                           [ cow dog owl ]
//                                   [ owl yak ]
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cluster/peers.h"
#include "merge/general_cells.h"
#include "run/general_run.h"

namespace xxl {

// A step of all ranks: what separates the ranges, fewer than there are ranks, in ascending order.
// `runs` are those of this rank.
std::vector<std::string> choose_key_cuts(std::span<const GeneralRun* const> runs, Peers& peers);

// The range of `rank`. Nothing if there are fewer ranges than that.
std::optional<KeyRange> range_of_rank(const std::vector<std::string>& cuts, unsigned rank);

}  // namespace xxl
