// How the memory of -S is divided between the engine and the module.
//
//   -S  =  small things  +  reading or writing  +  the engine
//
// Small things are what Arrow takes beside its pool, most of it for each column.
// Reading a sort's input has ended when writing begins, so that they share a part: the larger of
// both. A join reads both sides at the same time, and may do so while it writes.
#pragma once

#include <cstdint>
#include <span>

#include "columns/files/column_source.h"
#include "columns/files/module_table.h"

namespace xxl {

struct ColumnFileMemory {
  std::uint64_t engine_bytes = 0;   // of xxl::resources
  std::uint64_t module_bytes = 0;   // for reading and writing
  std::uint64_t writing_bytes = 0;  // of these, for writing
  module_table::BatchSizes batches{};
};

// What metadata may take while files are examined. Nothing else is in memory then, so that it may
// be more than there is in all: what would be enough is known only from them.
std::uint64_t memory_for_metadata(std::uint64_t memory_bytes);

// `sources`: one of a sort, the sides of a join. Throws Error{no_space} that says how much would
// do.
ColumnFileMemory plan_column_memory(std::uint64_t memory_bytes, module_table::Format format,
                                    std::span<const module_table::SourceFacts> sources);

// Throws what the streams of `sources` report, if one has failed. Where a batch did not fit in the
// memory for reading, this says how much would do in place of `memory_bytes`.
void rethrow_failure(std::uint64_t memory_bytes, module_table::Format format,
                     std::span<ColumnSource* const> sources);

}  // namespace xxl
