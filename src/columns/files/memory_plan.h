// How the memory of -S is divided between the engine and the module.
//
//   -S  =  small things  +  reading or writing  +  the engine
//
// Reading a sort's input has ended when writing begins, so that they share a part: the larger of
// both. A join may read while it writes, with a file of each side open.
#pragma once

#include <cstdint>
#include <span>

#include "columns/files/module_table.h"

namespace xxl {

struct ColumnFileMemory {
  std::uint64_t engine_bytes = 0;   // of xxl::resources
  std::uint64_t module_bytes = 0;   // for reading and writing
  std::uint64_t writing_bytes = 0;  // of these, for writing
  module_table::BatchSizes batches{};
};

// `sources`: one of a sort, the sides of a join. Throws Error{no_space} that says how much would
// do.
ColumnFileMemory plan_column_memory(std::uint64_t memory_bytes, module_table::Format format,
                                    std::span<const module_table::SourceFacts> sources);

}  // namespace xxl
