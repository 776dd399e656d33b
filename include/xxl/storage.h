// How disks are used: the interface of the kernel, and compression.
#pragma once

#include <cstdint>

namespace xxl {

// How disks are accessed.
enum class Backend {
  automatic,  // io_uring unless the kernel refuses it; threads for file systems in memory
  io_uring,
  threads,
};

// How files and scratch blocks are compressed.
// bzip2 and xz are only read.
enum class Codec { none, gzip, zstd, lz4, bzip2, xz };

// A job uses at most FileJob::memory_bytes plus this for code, stacks and libraries.
inline constexpr std::uint64_t kMemoryConstantBytes = std::uint64_t{48} << 20;

}  // namespace xxl
