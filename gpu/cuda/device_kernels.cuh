// Kernels that make items of records and records of items, and cut sorted sequences.
//
// As the operations of Stream, without waiting; tables are in device memory.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "gpu/device/device.h"

namespace xxl::gpu {

void load_items(const RecordShape& shape, const KeyView& view, const std::byte* records,
                const Items& items, cudaStream_t stream);

void store_records(const RecordShape& shape, const Items& items, std::byte* records,
                   cudaStream_t stream);

// `starts`: where each part begins in `to`, and the end.
void concatenate_items(const ItemShape& shape, const Items* parts, const std::uint64_t* starts,
                       std::size_t count, const Items& to, cudaStream_t stream);

void cut_sequences(const ItemShape& shape, const KeyView& view, bool by_address,
                   const Items* sequences, std::size_t count, const std::uint64_t* ranks,
                   std::size_t rank_count, std::uint64_t* cuts, cudaStream_t stream);

// slices[0].count becomes the number of slices, which follow; slices[0].bytes the longest record.
void cut_text(const Items& items, std::uint64_t most_bytes, const std::uint64_t* offsets,
              GeneralSlice* slices, std::size_t most_slices, cudaStream_t stream);

void gather_entries(const Items& items, const GeneralSlice& slice, const std::uint64_t* offsets,
                    char terminator, std::byte* records, cudaStream_t stream);

}  // namespace xxl::gpu
