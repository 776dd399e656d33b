// How the memory of a hash join is divided, and whether a table fits into it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "join/hash_table.h"

namespace xxl {

// What the planner must know; sizes in bytes unless said otherwise.
struct HashPlanInput {
  std::uint64_t memory_bytes = 0;
  unsigned threads = 1;
  std::uint64_t build_records = 0;  // number
  std::size_t build_record_bytes = 0;
  std::size_t probe_record_bytes = 0;
  std::size_t row_bytes = 0;
  std::uint64_t probe_bytes = ~std::uint64_t{0};  // of all of that side, if known
};

// Sizes in bytes unless said otherwise. All fits into `region_bytes`, and that into the memory:
// read buffers | output blocks | lists of matches | distributing | batches | records of the build
// side | their slabs | their table.
struct HashGeometry {
  std::size_t region_bytes = 0;
  unsigned threads = 1;
  std::size_t read_block_bytes = 0;
  std::size_t read_bytes = 0;  // all buffers together
  std::size_t output_block_bytes = 0;
  std::size_t output_bytes = 0;  // all blocks together
  std::size_t lists = 0;         // number of morsels that may be under way
  std::size_t list_matches = 0;  // number, of one list

  HashTable::Size table;          // numbers
  unsigned slab_shift = 0;        // a slab of the build side holds 2^slab_shift records
  std::size_t slabs = 0;          // number, of the build side
  std::size_t records_bytes = 0;  // of these slabs
  std::size_t table_bytes = 0;

  std::size_t scatter_records = 0;  // number, distributed at once
  std::size_t scatter_bytes = 0;    // for that, of a thread
  // The probe side is looked up in batches, one being distributed while the other is looked up; or
  // as it comes, if they have no bytes.
  std::size_t batch_slab_bytes = 0;
  std::size_t batch_records = 0;  // number, of one
  std::size_t batch_bytes = 0;    // of both
};

// Nothing if the table does not fit, even with one thread, or has too many records.
std::optional<HashGeometry> plan_hash_geometry(const HashPlanInput& input);

// The least memory, in whole MiB, with which a join of this input works; nothing if it has more
// records than a table may have.
std::optional<std::uint64_t> least_hash_memory(HashPlanInput input);

}  // namespace xxl
