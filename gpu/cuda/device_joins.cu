// Joins of sorted items.
#include <algorithm>
#include <cub/block/block_scan.cuh>

#include "base/units.h"
#include "gpu/cuda/cuda_stream.cuh"

namespace xxl::gpu {
namespace {

constexpr unsigned kThreads = 256;

// The first place of [low, high) whose key is not less, or else greater, than `key`.
template <bool kOrEqual, class Key>
__device__ std::uint32_t bound(const Key* keys, std::uint32_t low, std::uint32_t high, Key key) {
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (kOrEqual ? keys[middle] <= key : keys[middle] < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// The end of the keys that equal the one at `first`, by steps that double: most groups are short.
template <class Key>
__device__ std::uint32_t end_of_group(const Key* keys, std::uint32_t first, std::uint32_t end,
                                      Key key) {
  std::uint32_t low = first + 1;
  for (std::uint32_t step = 1; low < end; step *= 2) {
    const std::uint32_t probe = low + min(step - 1, end - 1 - low);
    if (keys[probe] != key) return bound<true>(keys, low, probe, key);
    low = probe + 1;
  }
  return end;
}

__device__ void add_in_warp(unsigned long long value, unsigned long long* sum) {
  for (unsigned offset = 16; offset > 0; offset /= 2) {
    value += __shfl_down_sync(0xffffffffu, value, offset);
  }
  if (threadIdx.x % 32 == 0 && value != 0) atomicAdd(sum, value);
}

// A block for each tile. The tile's first and last key bound the stretch of S that its threads
// search, which is then in the cache.
template <class Key>
__global__ void match_tiles(const Key* r, std::uint32_t r_count, const Key* s,
                            std::uint32_t s_count, MatchRange* ranges, TileTotals* totals) {
  __shared__ std::uint32_t low, high, s_end;
  __shared__ unsigned long long pairs, matched_r, matched_s;
  const auto begin = static_cast<std::uint32_t>(blockIdx.x * kMatchTile);
  const std::uint32_t end = begin + min(static_cast<std::uint32_t>(kMatchTile), r_count - begin);
  if (threadIdx.x == 0) {
    low = bound<false>(s, 0u, s_count, r[begin]);
    pairs = matched_r = matched_s = 0;
  }
  if (threadIdx.x == 32) high = bound<true>(s, 0u, s_count, r[end - 1]);
  __syncthreads();
  unsigned long long my_pairs = 0, my_matched_r = 0, my_matched_s = 0;
  for (std::uint32_t i = begin + threadIdx.x; i < end; i += kThreads) {
    const Key key = r[i];
    MatchRange range;
    range.first = bound<false>(s, low, high, key);
    if (range.first < high && s[range.first] == key) {
      range.count = end_of_group(s, range.first, high, key) - range.first;
      my_pairs += range.count;
      ++my_matched_r;
      if (i == 0 || r[i - 1] != key) my_matched_s += range.count;
    }
    if (ranges != nullptr) ranges[i] = range;
    if (i + 1 == end) s_end = range.first + range.count;
  }
  add_in_warp(my_pairs, &pairs);
  add_in_warp(my_matched_r, &matched_r);
  add_in_warp(my_matched_s, &matched_s);
  __syncthreads();
  if (threadIdx.x == 0) {
    TileTotals sum;
    sum.pairs = pairs;
    sum.matched_r = static_cast<std::uint32_t>(matched_r);
    sum.matched_s = static_cast<std::uint32_t>(matched_s);
    sum.s_end = s_end;
    totals[blockIdx.x] = sum;
  }
}

// Rows of one tile, for a block.
struct MatchPiece {
  std::uint64_t tile_row = 0;  // the tile's first
  std::uint64_t first_row = 0, end_row = 0;
  std::uint32_t tile = 0;
};
constexpr std::uint64_t kPieceRows = 8192;

// The last of a block's records whose rows start at `row` or before.
__device__ unsigned last_start(const unsigned long long* starts, unsigned long long row) {
  unsigned low = 0, high = kThreads - 1;
  while (low < high) {
    const unsigned middle = (low + high + 1) / 2;
    if (starts[middle] <= row) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// A block for each piece. As records of R have any number of rows, threads take rows, not records:
// each finds its record in the sums of the numbers of rows.
template <class Key>
__global__ void write_pieces(DeviceRows m, const MatchPiece* pieces, Key* to) {
  using Scan = cub::BlockScan<unsigned long long, kThreads>;
  __shared__ typename Scan::TempStorage scratch;
  __shared__ unsigned long long starts[kThreads];
  __shared__ MatchPiece piece;
  if (threadIdx.x == 0) piece = pieces[blockIdx.x];
  __syncthreads();
  unsigned long long row = piece.tile_row;
  const auto begin = static_cast<std::uint32_t>(piece.tile * kMatchTile);
  const std::uint32_t end = begin + min(static_cast<std::uint32_t>(kMatchTile), m.r_count - begin);
  const Key* const r = reinterpret_cast<const Key*>(m.r);
  const Key* const s = reinterpret_cast<const Key*>(m.s);
  const unsigned r_words = m.r_record_bytes / sizeof(Key), s_words = m.s_record_bytes / sizeof(Key);
  const unsigned row_words = r_words + m.s_value;
  // Records of S before the range of record i of R that have no partner.
  const auto gap = [&m](std::uint32_t i, const MatchRange& range) -> std::uint32_t {
    if (!m.wanted.lone_s) return 0;
    const std::uint32_t done = i == 0 ? 0 : m.ranges[i - 1].first + m.ranges[i - 1].count;
    return range.first > done ? range.first - done : 0;
  };
  const auto own = [&m](const MatchRange& range) -> std::uint32_t {
    if (range.count == 0) return m.wanted.lone_r;
    return m.wanted.pairs ? range.count : m.wanted.matched_r;
  };
  for (std::uint32_t first = begin; first < end && row < piece.end_row; first += kThreads) {
    const std::uint32_t mine = first + threadIdx.x;
    unsigned long long rows = 0, all;
    if (mine < end) {
      const MatchRange range = m.ranges[mine];
      rows = static_cast<unsigned long long>(gap(mine, range)) + own(range);
      if (m.wanted.lone_s && mine + 1 == m.r_count) rows += m.s_count - range.first - range.count;
    }
    Scan(scratch).ExclusiveSum(rows, starts[threadIdx.x], all);
    __syncthreads();
    const unsigned long long skip = piece.first_row > row ? piece.first_row - row : 0;
    const unsigned long long left = piece.end_row - row;
    const unsigned long long stop = all < left ? all : left;
    for (unsigned long long k = skip + threadIdx.x; k < stop; k += kThreads) {
      const unsigned in_step = last_start(starts, k);
      const std::uint32_t i = first + in_step;
      const MatchRange range = m.ranges[i];
      const std::uint32_t before = gap(i, range), here = own(range);
      const auto place = static_cast<std::uint32_t>(k - starts[in_step]);
      Key* const out = to + (row + k - m.first_row) * row_words;
      const bool has_r = place >= before && place - before < here;
      if (has_r) {
        out[0] = r[std::size_t{i} * r_words];
        if (r_words > 1) out[1] = r[std::size_t{i} * r_words + 1];
        if (m.s_value) {
          const bool pair = m.wanted.pairs && range.count != 0;
          out[r_words] = pair ? s[std::size_t{range.first + place - before} * s_words + 1]
                              : static_cast<Key>(m.missing);
        }
      } else {
        const std::uint32_t j = place < before
                                    ? range.first - before + place
                                    : range.first + range.count + (place - before - here);
        out[0] = s[std::size_t{j} * s_words];
        if (r_words > 1) out[1] = static_cast<Key>(m.missing);
        if (m.s_value) out[r_words] = s[std::size_t{j} * s_words + 1];
      }
    }
    row += all;
    __syncthreads();
  }
}

// Divides the rows that are to be written into pieces of about the same size, however they are
// distributed over tiles.
std::vector<MatchPiece> match_pieces(const DeviceRows& rows,
                                     std::span<const std::uint64_t> tile_rows) {
  std::vector<MatchPiece> pieces;
  const std::uint64_t end_row = rows.first_row + rows.rows;
  for (std::size_t tile = 0; tile + 1 < tile_rows.size(); ++tile) {
    const std::uint64_t end = std::min(tile_rows[tile + 1], end_row);
    for (std::uint64_t row = std::max(tile_rows[tile], rows.first_row); row < end;) {
      const std::uint64_t next = std::min(row + kPieceRows, end);
      pieces.push_back({tile_rows[tile], row, next, static_cast<std::uint32_t>(tile)});
      row = next;
    }
  }
  return pieces;
}

}  // namespace

void CudaStream::match(unsigned key_bytes, const Items& r, const Items& s, MatchRange* ranges,
                       TileTotals* totals) {
  use();
  if (r.count == 0) return;
  const auto tiles = static_cast<unsigned>(ceil_div<std::size_t>(r.count, kMatchTile));
  with_key(key_bytes, [&](auto zero) {
    using Key = decltype(zero);
    match_tiles<<<tiles, kThreads, 0, stream_>>>(
        reinterpret_cast<const Key*>(r.keys), static_cast<std::uint32_t>(r.count),
        reinterpret_cast<const Key*>(s.keys), static_cast<std::uint32_t>(s.count), ranges, totals);
  });
  check_launch("match");
}

void CudaStream::write_matches(const DeviceRows& rows, std::span<const std::uint64_t> tile_rows,
                               std::byte* to) {
  use();
  const std::vector<MatchPiece> pieces = match_pieces(rows, tile_rows);
  const auto* const shared =
      reinterpret_cast<const MatchPiece*>(shared_copy(std::as_bytes(std::span(pieces))));
  if (pieces.empty()) return;
  const auto blocks = static_cast<unsigned>(pieces.size());
  with_key(rows.key_bytes, [&](auto zero) {
    write_pieces<<<blocks, kThreads, 0, stream_>>>(rows, shared,
                                                   reinterpret_cast<decltype(zero)*>(to));
  });
  check_launch("write matches");
}

}  // namespace xxl::gpu
