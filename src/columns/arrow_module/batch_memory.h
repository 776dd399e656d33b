// How much memory a batch of Arrow IPC takes that must be read as a whole, because it is
// compressed: what its metadata and the starts of its buffers say.
#pragma once

#include <cstdint>

#include "columns/arrow_module/posix_files.h"

namespace xxl::arrow_module {

// Of the largest batch of a file or stream, with all dictionaries: about the bytes that reading
// allocates. `file` has `size` bytes; pieces of more than `most_read` are mapped, not read. What is
// damaged ends the search.
std::uint64_t largest_batch_memory(PosixFile& file, std::int64_t size, std::int64_t most_read);

}  // namespace xxl::arrow_module
