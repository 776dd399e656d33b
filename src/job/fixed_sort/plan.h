// How the memory of a sort is divided, before anything is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "io/codec.h"
#include "record/key_layout.h"
#include "sort/cpu_chunk_sorter.h"

namespace xxl {

// What the planner must know.
struct PlanInput {
  std::uint64_t memory_bytes = 0;
  std::uint64_t input_bytes = 0;
  bool input_size_known = true;
  unsigned threads = 1;
  unsigned scratch_disks = 1;
  unsigned batch_size = 0;  // 0: no limit
  bool merge_only = false;
  bool uses_all_memory = false;             // not only what is worth using
  bool in_order = false;                    // runs must be sorted to the last record
  std::optional<std::uint64_t> limit = {};  // of a run and of the output, in records
  std::size_t merge_inputs = 0;             // files to be merged with merge_only
  std::uint64_t largest_input = 0;          // of these, in bytes; 0: not known
  std::uint64_t beside_bytes = 0;           // of -S, beside memory_bytes: for messages
  bool accelerated = false;           // chunks are in an accelerator's memory (sort/accelerator.h)
  std::uint64_t chunk_bytes = 0;      // with `accelerated`: of a run
  bool merge_accelerated = false;     // an accelerator may sort pieces of the merge
  Codec scratch_codec = Codec::none;  // of scratch blocks
  int scratch_level = 0;
  const KeyLayout* input_layout = nullptr;  // of the input, if runs have larger records
  std::uint64_t folding_bytes = 0;          // that folding takes in each thread, beside pieces
  std::uint64_t merge_memory_bytes = 0;     // that merges may take; 0: as much as the rest
  unsigned ranks = 1;  // that sort as much each, and then merge a part of the runs of all
};

// Sizes in bytes unless said otherwise. All of a phase fits into `region_bytes`, except what is
// kept while runs are merged.
struct Geometry {
  std::size_t region_bytes = 0;   // the one large region of memory
  std::uint64_t table_bytes = 0;  // beside it: what is remembered of runs, and compression
  unsigned threads = 1;

  // Runs.
  std::size_t block_bytes = 0;
  std::size_t records_per_block = 0;  // number
  std::size_t slot_bytes = 0;         // of the scratch store

  // Run formation: output blocks | read blocks | sorters | table of buckets.
  std::size_t read_block_bytes = 0;
  std::size_t read_blocks = 0;     // number
  std::size_t output_blocks = 0;   // number, of block_bytes
  std::size_t piece_capacity = 0;  // records
  CpuChunkGeometry chunk;
  bool cells_unsorted = false;  // runs are left unsorted within cells (run/cell_grid.h)
  // chunk.keeps_rest: the memory of the merge comes before that of run formation, in one region.
  std::size_t kept_merge_bytes() const { return chunk.keeps_rest ? merge_region_bytes : 0; }
  // With an accelerator, in place of sorters and table: slices of sorted records.
  std::size_t slice_bytes = 0;
  std::size_t slices = 0;  // number

  // Merging: output blocks | sorters | staging of large pieces | blocks of the runs.
  std::size_t merge_region_bytes = 0;    // all of these
  std::size_t merge_piece_records = 0;   // number
  std::size_t merge_piece_capacity = 0;  // number
  std::size_t merge_output_bytes = 0;    // all output blocks together
  std::size_t final_block_bytes = 0;     // a block of the output file
  std::size_t merge_blocks = 0;          // buffers for blocks of runs, number
  std::size_t merge_degree = 0;          // most runs merged at once, of each rank
  // Pieces that an accelerator may sort; none: the CPU merges.
  unsigned large_sorters = 0;            // number
  std::size_t large_piece_records = 0;   // number
  std::size_t large_piece_capacity = 0;  // number
  std::size_t large_staging_bytes = 0;   // of one sorter
};

// How much of `memory_bytes` is worth using for runs of `input_bytes`, which do not fit in it. Up
// to some dozens of runs, a merge costs the same whatever their number: where half of the memory
// leaves few runs, taking all of it would only cost the time to get it from the system (on virtual
// machines as much as sorting what it holds) and take it from others.
std::uint64_t worthwhile_memory(std::uint64_t memory_bytes, std::uint64_t input_bytes);

// Throws Error{no_space} saying how much memory is needed when it is not enough.
Geometry plan_geometry(const PlanInput& input, const KeyLayout& layout);

// Fewer threads have more memory each, form longer runs, and may so save a pass of merging: with
// this many at least, since they sort in no more time than a pass takes on usual disks (2 GB/s).
inline constexpr unsigned kFewestThreads = 4;

// Merge passes for `runs` runs, and the degree that spreads them evenly (STXXL's arithmetic: the
// fewest passes, then the passes-th root of the number of runs).
unsigned merge_passes(std::uint64_t runs, std::size_t max_degree);
std::size_t balanced_degree(std::uint64_t runs, unsigned passes, std::size_t max_degree);

}  // namespace xxl
