// Kernels that join.
//
// As the operations of Stream, without waiting.
#pragma once

#include <cuda_runtime.h>

#include "gpu/device.h"

namespace xxl::gpu {

void match_items(unsigned key_bytes, const Items& r, const Items& s, MatchRange* ranges,
                 MatchTotals* totals, cudaStream_t stream);

// `tile_rows` is in device memory.
void write_match_rows(const MatchRows& rows, const std::uint64_t* tile_rows, std::byte* to,
                      cudaStream_t stream);

}  // namespace xxl::gpu
