// Sorting in device memory, by CUB.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <span>

#include "gpu/device/device.h"

namespace xxl::gpu {

// As Stream::sort, without waiting.
void sort_items(const ItemShape& shape, const Items& from, const Items& to,
                std::span<std::byte> scratch, cudaStream_t stream);
std::size_t sort_scratch_bytes(const ItemShape& shape, std::size_t count);

// As Stream::refine. Waits for the number of ties after each word.
void refine_items(const KeyView& view, const Items& items, std::span<std::byte> scratch,
                  cudaStream_t stream);
std::size_t refine_scratch_bytes(std::size_t count);

// Offsets of `items.count` records of text with a byte after each, and of their end.
void measure_text(const Items& items, std::uint64_t* offsets, std::span<std::byte> scratch,
                  cudaStream_t stream);

}  // namespace xxl::gpu
