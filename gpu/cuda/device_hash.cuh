// Kernels of hash tables.
//
// As the operations of Stream, without waiting; tile_rows is in device memory.
#pragma once

#include <cuda_runtime.h>

#include "gpu/device/device.h"

namespace xxl::gpu {

void select_near(const DeviceHashTable& table, const std::byte* records, std::size_t count,
                 std::byte* to, std::size_t most, std::uint64_t* selected, cudaStream_t stream);

void insert_near(const DeviceHashTable& table, std::size_t first, std::size_t end,
                 std::uint32_t* chains, cudaStream_t stream);

void probe_table(const DeviceHashTable& table, const ProbeShape& shape, const std::byte* records,
                 std::size_t count, MatchRange* found, TileTotals* totals, cudaStream_t stream);

void write_found(const DeviceHashTable& table, const ProbeShape& shape, const std::byte* records,
                 std::size_t count, const MatchRange* found, const std::uint64_t* tile_rows,
                 std::uint64_t first_row, std::uint64_t rows, std::byte* to, cudaStream_t stream);

}  // namespace xxl::gpu
