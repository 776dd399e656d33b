// How the memory of a general sort is divided. See docs/internals/general-sort.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/units.h"
#include "io/codec.h"
#include "job/general_sort/record_sizes.h"

namespace xxl {

// The part of what a process takes beside -S that tables of runs may use.
inline constexpr std::size_t kSpareTableBytes = 12 * kMiB;

struct GeneralPlanInput {
  std::uint64_t memory_bytes = 0;
  std::uint64_t input_bytes = 0;  // 0 if unknown
  bool size_known = true;
  StoredRecords stored;  // if the size is known
  unsigned threads = 1;
  bool keys_are_records = true;
  std::size_t longest_record = 0;     // there must be room for it; 0: none is known to be long
  std::size_t merged_bytes = 0;       // of long records that merges must hold at once
  std::size_t block_bytes = 0;        // of runs that there are already; 0: to be chosen
  Codec scratch_codec = Codec::none;  // of scratch blocks
  int scratch_level = 0;
  bool temp_program = false;  // scratch blocks go through a program
  Codec output_codec = Codec::none;
  std::uint64_t decoder_bytes = 0;      // set aside for decompressing inputs
  std::size_t staging_bytes = 0;        // for transfers to and from an accelerator, if there is one
  std::uint64_t accelerator_bytes = 0;  // of input that certainly fits in its memory
  std::size_t spare_table_bytes = kSpareTableBytes;  // of tables, beside `memory_bytes`
};

struct GeneralGeometry {
  std::size_t memory_bytes = 0;   // of the region that is divided into what follows
  std::size_t write_bytes = 0;    // buffers of blocks of runs being written
  std::size_t output_bytes = 0;   // of them, for blocks of the output, when runs are written
  std::size_t item_capacity = 0;  // of a worker
  std::size_t key_bytes = 0;      // memory for keys of a worker
  std::size_t region_bytes = 0;
  std::size_t regions = 0;
  std::size_t merge_bytes = 0;         // of all regions, and what is left beside them: for merges
  std::size_t block_bytes = 0;         // of a run
  std::size_t slot_bytes = 0;          // of scratch
  std::size_t packed_block_bytes = 0;  // scratch blocks of more than this stay as they are
  std::size_t output_block_bytes = 0;  // of the output
  std::size_t chunk_bytes = 0;         // to be read into a region at most
  std::size_t table_bytes = 0;         // that tables of runs may take (run/run_tables.h)
  std::uint64_t merge_degree = 0;      // most runs merged at once
  // Of random input of known size, without an accelerator:
  std::uint64_t runs = 1;  // 1: sorted in memory
  unsigned passes = 0;     // over the data, of merging
  // What they cost, in halves of a pass: more where one worker must do the last.
  unsigned merge_cost = 0;
};

// Nothing if the memory is too small.
std::optional<GeneralGeometry> plan_general(const GeneralPlanInput& input);

// `input` with as many of its threads as there is memory for, or with fewer, but a few at least, if
// that merges faster: threads share the memory in which runs are formed, so that fewer threads form
// fewer runs. Nothing if there is too little for one.
std::optional<GeneralPlanInput> with_best_threads(GeneralPlanInput input);

}  // namespace xxl
