// The I/O of a job, as its options have it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "io/io_queue.h"
#include "job/job.h"

namespace xxl {

// Input of fewer bytes is sorted sooner than threads and rings are made.
inline constexpr std::uint64_t kLittleBytes = std::uint64_t{1} << 20;

// Whether a job of `input_bytes` (nullopt: unknown) is done by the calling thread alone.
bool is_little(const JobOptions& options, std::optional<std::uint64_t> input_bytes);

// `memory` (may be empty) is registered with the queues, and must outlive them. `is_little`:
// without threads and rings. Throws Error.
std::unique_ptr<io::IoService> open_io(const JobOptions& options, std::span<std::byte> memory,
                                       bool is_little = false);

// The name of its backend.
std::string backend_name(const JobOptions& options, bool is_little = false);

}  // namespace xxl
