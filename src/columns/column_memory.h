// How the memory of a sort or join of columns is divided.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "columns/column_stream.h"
#include "xxl/columns.h"
#include "xxl/resources.h"

namespace xxl {

struct ColumnMemory {
  std::uint64_t all_bytes = 0;
  std::uint64_t engine_bytes = 0;      // what sorts and merges
  std::uint64_t input_bytes = 0;       // most that a batch of an input may take
  std::uint64_t output_bytes = 0;      // of rows of a batch that is given
  std::uint64_t dictionary_bytes = 0;  // most of the values of a dictionary
};

// Of the memory of a user of `shared`. `columns`: how many a batch has. `first`: bytes of the first
// batch of an input, which tells of the others; 0 if they do not count. Throws Error{no_space} if
// it is too large.
ColumnMemory divide_memory(const resources& shared, std::uint64_t columns, std::uint64_t first,
                           const std::string& place);

// Throws Error{no_space} if the batch that `reader` has takes more than `memory` allows.
void check_batch(const BatchReader& reader, const ColumnMemory& memory);

}  // namespace xxl
