// One wording for errors in input files.
#pragma once

#include <cstddef>
#include <cstdint>

#include "io/file.h"
#include "io/io_queue.h"

namespace xxl::io {

// Throws Error{bad_input} unless the `bytes` of `file` are a whole number of records.
void check_whole_records(const File& file, std::uint64_t bytes, std::size_t record_bytes);

// To be called when a read of `wanted` bytes at `offset` has completed; `wanted` is 0 for a stream.
// Throws Error{io} if it failed, and Error{bad_input} if the file has become shorter.
void check_read(const File& file, std::uint64_t offset, std::size_t wanted,
                const Completion& completion);

// Throws Error{bad_input}: `file` ends at `offset`, before its size.
[[noreturn]] void throw_shorter(const File& file, std::uint64_t offset);

}  // namespace xxl::io
