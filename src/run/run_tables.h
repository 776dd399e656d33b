// How much memory it takes to remember runs of text: what a plan sets aside, and what a sort goes
// by when it decides how to merge. See docs/text.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "run/text_run.h"

namespace xxl {

// A run by itself: the object, its small pieces of memory, and the lists that it stands in.
inline constexpr std::size_t kRunBytes = 768;

// Of a block in a merge by cells (merge/text_merger.h), beside the run's own table; and of a cell.
inline constexpr std::size_t kMergedBlockBytes = 48;
inline constexpr std::size_t kCellTableBytes = 96;

// Assumed of triggers before there are any.
inline constexpr std::size_t kUsualTriggerBytes = 16;

// What `run` takes now.
inline std::size_t table_bytes(const TextRun& run) {
  const std::size_t table = kRunBytes + run.blocks.capacity() * sizeof(TextBlock) +
                            run.places.capacity() * sizeof(io::ScratchPlace) +
                            run.triggers.capacity();
  return run.parts == nullptr ? table : table + table_bytes(*run.parts);
}

// What the tables of `run_bytes` in blocks of `block_bytes` will take, in `runs` runs.
inline std::uint64_t expected_table_bytes(std::uint64_t run_bytes, std::uint64_t runs,
                                          std::size_t block_bytes) {
  return runs * kRunBytes +
         (run_bytes / block_bytes + runs) * (sizeof(TextBlock) + kUsualTriggerBytes);
}

// What a merge of `blocks` by `cells` takes beside the tables of the runs.
inline std::uint64_t merge_table_bytes(std::uint64_t blocks, std::uint64_t cells) {
  return blocks * kMergedBlockBytes + cells * kCellTableBytes;
}

}  // namespace xxl
