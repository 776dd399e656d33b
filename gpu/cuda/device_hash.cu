// Hash tables.
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include "base/units.h"
#include "gpu/cuda/cuda_stream.cuh"

namespace xxl::gpu {
namespace {

constexpr unsigned kThreads = 256;

unsigned tiles_of(std::size_t count) {
  return static_cast<unsigned>(ceil_div(count, kMatchTile));
}

template <class Key>
__device__ Key key_at(const std::byte* records, std::size_t i, std::uint32_t record_bytes) {
  return *reinterpret_cast<const Key*>(records + i * record_bytes);
}

// Each block reserves places for all of its records at once.
template <class Key>
__global__ void select_tiles(DeviceHashTable table, const Key* records, std::size_t count, Key* to,
                             std::size_t most, unsigned long long* selected) {
  using Scan = cub::BlockScan<unsigned, kThreads>;
  __shared__ typename Scan::TempStorage scratch;
  __shared__ unsigned long long base;
  const unsigned words = table.record_bytes / sizeof(Key);
  const std::size_t begin = blockIdx.x * kMatchTile;
  const std::size_t end = min(begin + kMatchTile, count);
  for (std::size_t first = begin; first < end; first += kThreads) {
    const std::size_t i = first + threadIdx.x;
    const bool taken = i < end && table.is_near(DeviceHashTable::hash(records[i * words]));
    unsigned place, all;
    Scan(scratch).ExclusiveSum(taken, place, all);
    if (threadIdx.x == 0) base = atomicAdd(selected, static_cast<unsigned long long>(all));
    __syncthreads();
    if (taken && base + place < most) {
      for (unsigned w = 0; w < words; ++w) to[(base + place) * words + w] = records[i * words + w];
    }
    __syncthreads();
  }
}

template <class Key>
__global__ void insert_tiles(DeviceHashTable table, std::size_t first, std::size_t end,
                             std::uint32_t* chains) {
  const HashPart& part = table.near;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = first + std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < end;
       i += stride) {
    const Key key = key_at<Key>(part.records, i, table.record_bytes);
    const auto number = static_cast<std::uint32_t>(i + 1);
    std::uint32_t rest = 0;
    for (std::uint64_t slot = part.home(DeviceHashTable::hash(key));; slot = part.after(slot)) {
      const std::uint32_t there = atomicCAS(part.slots + slot, 0u, number);
      if (there == 0) break;
      if (table.key_of<Key>(part, there) != key) continue;
      // From now on the slot is this key's: its content is the rest of the chain.
      rest = atomicExch(part.slots + slot, number);
      *chains = 1;
      break;
    }
    part.next[i] = rest;
  }
}

template <class Key>
__global__ void probe_tiles(DeviceHashTable table, ProbeShape shape, const std::byte* records,
                            std::size_t count, MatchRange* found, TileTotals* totals) {
  using Reduce = cub::BlockReduce<unsigned long long, kThreads>;
  __shared__ typename Reduce::TempStorage scratch;
  const std::size_t begin = blockIdx.x * kMatchTile;
  const std::size_t end = min(begin + kMatchTile, count);
  unsigned long long pairs = 0, matched = 0;
#pragma unroll 4
  for (std::size_t i = begin + threadIdx.x; i < end; i += kThreads) {
    const Key key = key_at<Key>(records, i, shape.record_bytes);
    const std::uint64_t hash = DeviceHashTable::hash(key);
    const HashPart& part = table.part_of(hash);
    MatchRange range;
    range.first = table.find<Key>(part, hash, key);
    range.count = table.chain_length(part, range.first);
    found[i] = range;
    pairs += range.count;
    matched += range.count != 0;
  }
  pairs = Reduce(scratch).Sum(pairs);
  __syncthreads();
  matched = Reduce(scratch).Sum(matched);
  if (threadIdx.x == 0) {
    TileTotals sum;
    sum.pairs = pairs;
    sum.matched_r = static_cast<std::uint32_t>(matched);
    totals[blockIdx.x] = sum;
  }
}

// Each thread writes the rows of one record at a time; those of a block are neighbours.
template <class Key>
__global__ void write_tiles(DeviceHashTable table, ProbeShape shape, const std::byte* records,
                            std::size_t count, const MatchRange* found,
                            const std::uint64_t* tile_rows, std::uint64_t first_row,
                            std::uint64_t rows, Key* to) {
  using Scan = cub::BlockScan<unsigned long long, kThreads>;
  __shared__ typename Scan::TempStorage scratch;
  const std::uint64_t end_row = first_row + rows;
  unsigned long long row = tile_rows[blockIdx.x];
  if (row >= end_row || tile_rows[blockIdx.x + 1] <= first_row) return;
  const std::size_t begin = blockIdx.x * kMatchTile;
  const std::size_t end = min(begin + kMatchTile, count);
  const unsigned record_words = shape.record_bytes / sizeof(Key);
  const unsigned row_words = record_words + shape.build_value;
  for (std::size_t first = begin; first < end; first += kThreads) {
    const std::size_t i = first + threadIdx.x;
    const MatchRange range = i < end ? found[i] : MatchRange{};
    const unsigned long long mine = i < end ? shape.rows(range.count) : 0;
    unsigned long long before, all;
    Scan(scratch).ExclusiveSum(mine, before, all);
    __syncthreads();
    if (mine != 0) {
      const Key* const record = reinterpret_cast<const Key*>(records) + i * record_words;
      const Key key = record[0];
      const Key value = record_words > 1 ? record[1] : Key{};
      const HashPart& part = table.part_of(DeviceHashTable::hash(key));
      const bool pairs = shape.wanted.pairs && range.count != 0;
      std::uint32_t number = range.first;
      for (unsigned long long k = 0; k < mine; ++k) {
        const unsigned long long at = row + before + k;
        if (at >= end_row) break;
        if (at >= first_row) {
          Key* const out = to + (at - first_row) * row_words;
          out[0] = key;
          if (record_words > 1) out[1] = value;
          if (shape.build_value) {
            out[record_words] =
                pairs ? reinterpret_cast<const Key*>(part.records + std::uint64_t{number - 1} *
                                                                        table.record_bytes)[1]
                      : static_cast<Key>(shape.missing);
          }
        }
        if (table.chains && pairs) number = part.next[number - 1];
      }
    }
    row += all;
  }
}

}  // namespace

void CudaStream::select(const DeviceHashTable& table, const std::byte* records, std::size_t count,
                        std::byte* to, std::size_t most, std::uint64_t* selected) {
  use();
  if (count == 0) return;
  with_key(table.key_bytes, [&](auto zero) {
    using Key = decltype(zero);
    select_tiles<<<tiles_of(count), kThreads, 0, stream_>>>(
        table, reinterpret_cast<const Key*>(records), count, reinterpret_cast<Key*>(to), most,
        reinterpret_cast<unsigned long long*>(selected));
  });
  check_launch("select");
}

void CudaStream::insert(const DeviceHashTable& table, std::size_t first, std::size_t end,
                        std::uint32_t* chains) {
  use();
  if (first == end) return;
  const auto blocks = static_cast<unsigned>(
      min(ceil_div<std::size_t>(end - first, kThreads), std::size_t{1} << 20));
  with_key(table.key_bytes, [&](auto zero) {
    insert_tiles<decltype(zero)><<<blocks, kThreads, 0, stream_>>>(table, first, end, chains);
  });
  check_launch("insert");
}

void CudaStream::probe(const DeviceHashTable& table, const ProbeShape& shape,
                       const std::byte* records, std::size_t count, MatchRange* found,
                       TileTotals* totals) {
  use();
  if (count == 0) return;
  with_key(table.key_bytes, [&](auto zero) {
    probe_tiles<decltype(zero)>
        <<<tiles_of(count), kThreads, 0, stream_>>>(table, shape, records, count, found, totals);
  });
  check_launch("probe");
}

void CudaStream::write_rows(const DeviceHashTable& table, const ProbeShape& shape,
                            const std::byte* records, std::size_t count, const MatchRange* found,
                            std::span<const std::uint64_t> tile_rows, std::uint64_t first_row,
                            std::uint64_t rows, std::byte* to) {
  use();
  const auto* const starts =
      reinterpret_cast<const std::uint64_t*>(shared_copy(std::as_bytes(tile_rows)));
  if (count == 0 || rows == 0) return;
  with_key(table.key_bytes, [&](auto zero) {
    write_tiles<<<tiles_of(count), kThreads, 0, stream_>>>(table, shape, records, count, found,
                                                           starts, first_row, rows,
                                                           reinterpret_cast<decltype(zero)*>(to));
  });
  check_launch("write rows");
}

}  // namespace xxl::gpu
