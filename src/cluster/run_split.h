// Where the sorted runs of all ranks are cut into parts, one for each rank: exact multiway
// selection, as in the canonical mergesort of Rahn, Sanders and Singler, "Scalable
// distributed-memory external sorting", ICDE 2010, section 4.
//
// All records have one order: by key, then by the rank that has the record, its run, and its place
// in the run. A *splitter* is the record before which so many others come. For each splitter there
// is in each run an interval in which it must lie; the intervals shrink until they are places:
//
//     run 0   |=======(-------)====|      a pivot, of the middles of the intervals the (weighted)
//     run 1   |====(---*--)========|      median, is counted in all runs: if fewer come before it
//     run 2   |==========(-----)===|      than the splitter wants, it lies behind, otherwise before
//
// First only starts of blocks are pivots, and their triggers are compared, which are in memory; a
// count is then known up to a block in each run. When that decides no more, the few blocks that the
// intervals still lie in are read. The splitter of rank i is found by rank i for all, so that the
// work is spread, and all splitters at the same time, so that the steps are few: some dozens,
// however many ranks there are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cluster/peers.h"
#include "record/key_layout.h"
#include "run/run.h"
#include "run/run_store.h"

namespace xxl {

// For each rank, and the end of the last one, where its part begins in each of this rank's runs.
using RunCuts = std::vector<std::vector<std::uint64_t>>;

// Memory for it: this many buffers of a block.
inline std::size_t split_buffers(std::size_t runs, unsigned ranks) {
  return runs * ranks;
}

// Steps of all ranks. `runs`, of this rank, are sorted to the last record. `starts`, the same for
// all ranks: for each rank, and the end of the last one, how many records come before its part.
// `whole_keys`: parts begin with the first record of a key, all of whose records are in one part.
// `memory`: split_buffers() of `block_bytes` each. Throws Error if a block cannot be read.
RunCuts split_runs(const KeyLayout& layout, const std::vector<Run>& runs, BlockSource& source,
                   std::span<const std::uint64_t> starts, bool whole_keys,
                   std::span<std::byte> memory, std::size_t block_bytes, Peers& peers);

}  // namespace xxl
