// How much memory the tables of runs of text take: for plans, and for the decision how to merge.
// See docs/internals/general-sort.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "run/general_run.h"

namespace xxl {

// A run by itself: the object, its small allocations, and its entries in lists.
inline constexpr std::size_t kRunBytes = 768;

// For a block in a merge by cells (merge/general_merger.h), beside the run's own table; and for a
// cell.
inline constexpr std::size_t kMergedBlockBytes = 48;
inline constexpr std::size_t kCellTableBytes = 96;

// Assumed of triggers before there are any.
inline constexpr std::size_t kUsualTriggerBytes = 16;

// Memory of `run` now.
inline std::size_t table_bytes(const GeneralRun& run) {
  const std::size_t table = kRunBytes + run.blocks.capacity() * sizeof(GeneralBlock) +
                            run.places.capacity() * sizeof(io::ScratchPlace) +
                            run.triggers.capacity();
  return run.parts == nullptr ? table : table + table_bytes(*run.parts);
}

// Memory for the tables of `run_bytes` in blocks of `block_bytes`, in `runs` runs.
inline std::uint64_t expected_table_bytes(std::uint64_t run_bytes, std::uint64_t runs,
                                          std::size_t block_bytes) {
  return runs * kRunBytes +
         (run_bytes / block_bytes + runs) * (sizeof(GeneralBlock) + kUsualTriggerBytes);
}

// The least that these may take, whatever the records, if runs have at most `most_run_bytes`.
inline std::uint64_t least_table_bytes(std::uint64_t run_bytes, std::uint64_t most_run_bytes,
                                       std::size_t block_bytes) {
  return run_bytes / most_run_bytes * kRunBytes + run_bytes / block_bytes * sizeof(GeneralBlock);
}

// Memory of a merge of `blocks` by `cells` beside the tables of the runs.
inline std::uint64_t merge_table_bytes(std::uint64_t blocks, std::uint64_t cells) {
  return blocks * kMergedBlockBytes + cells * kCellTableBytes;
}

}  // namespace xxl
