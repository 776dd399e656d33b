#include "gpu/device_joins.cuh"

#include "base/units.h"
#include "gpu/cuda_check.cuh"

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
                            std::uint32_t s_count, MatchRange* ranges, MatchTotals* totals) {
  __shared__ std::uint32_t low, high;
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
  }
  add_in_warp(my_pairs, &pairs);
  add_in_warp(my_matched_r, &matched_r);
  add_in_warp(my_matched_s, &matched_s);
  __syncthreads();
  if (threadIdx.x == 0) {
    MatchTotals sum;
    sum.pairs = pairs;
    sum.matched_r = static_cast<std::uint32_t>(matched_r);
    sum.matched_s = static_cast<std::uint32_t>(matched_s);
    totals[blockIdx.x] = sum;
  }
}

template <class Key>
void match_with(const Items& r, const Items& s, MatchRange* ranges, MatchTotals* totals,
                cudaStream_t stream) {
  const auto tiles = static_cast<unsigned>(ceil_div<std::size_t>(r.count, kMatchTile));
  match_tiles<<<tiles, kThreads, 0, stream>>>(
      reinterpret_cast<const Key*>(r.keys), static_cast<std::uint32_t>(r.count),
      reinterpret_cast<const Key*>(s.keys), static_cast<std::uint32_t>(s.count), ranges, totals);
}

}  // namespace

void match_items(unsigned key_bytes, const Items& r, const Items& s, MatchRange* ranges,
                 MatchTotals* totals, cudaStream_t stream) {
  if (r.count == 0) return;
  if (key_bytes == 4) {
    match_with<std::uint32_t>(r, s, ranges, totals, stream);
  } else {
    match_with<std::uint64_t>(r, s, ranges, totals, stream);
  }
  check_cuda(cudaGetLastError(), "match");
}

}  // namespace xxl::gpu
