// Kernels that join.
//
// As the operations of Stream, without waiting.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu/device/device.h"

namespace xxl::gpu {

void match_items(unsigned key_bytes, const Items& r, const Items& s, MatchRange* ranges,
                 TileTotals* totals, cudaStream_t stream);

// Rows of one tile, for a block.
struct MatchPiece {
  std::uint64_t tile_row = 0;  // the tile's first
  std::uint64_t first_row = 0, end_row = 0;
  std::uint32_t tile = 0;
};

// Divides the rows that are to be written into pieces of about the same size, however they are
// distributed over tiles.
std::vector<MatchPiece> match_pieces(const DeviceRows& rows,
                                     std::span<const std::uint64_t> tile_rows);

// `pieces` is in device or shared memory.
void write_match_rows(const DeviceRows& rows, const MatchPiece* pieces, std::size_t piece_count,
                      std::byte* to, cudaStream_t stream);

}  // namespace xxl::gpu
