// A sorted file as a run: for sort -m, and for an early output.
#pragma once

#include <cstdint>
#include <memory>

#include "io/file.h"
#include "record/key_layout.h"
#include "run/run.h"

namespace xxl {

// Reads the first key of every block of `block_bytes` (less a sector at each end for alignment) of
// `records` records from `offset` of `file`. Few reads, of one sector or a record each, on several
// threads. Throws Error.
Run open_file_run(std::shared_ptr<io::File> file, std::uint64_t offset, std::uint64_t records,
                  const KeyLayout& layout, std::size_t block_bytes);

// Checks that `records`, read as block `index` of such a run, are in order, also with the next
// block, and that the block starts with the key that was read before. Throws Error{bad_input}.
void check_file_block(const Run& run, const KeyLayout& layout, std::size_t index,
                      const std::byte* records);

}  // namespace xxl
