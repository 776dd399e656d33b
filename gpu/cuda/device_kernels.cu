// Items of records and records of items, cuts of sorted sequences, text.
#include <algorithm>

#include "base/units.h"
#include "gpu/cuda/cuda_stream.cuh"

namespace xxl::gpu {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::size_t kMaxBlocks = std::size_t{1} << 20;

// Blocks of kThreads for `threads` threads; kernels continue in strides beyond that.
unsigned blocks_for(std::size_t threads) {
  return static_cast<unsigned>(
      std::clamp<std::size_t>(ceil_div<std::size_t>(threads, kThreads), 1, kMaxBlocks));
}

__device__ std::size_t first_index() {
  return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ std::size_t stride() {
  return std::size_t{gridDim.x} * blockDim.x;
}

// A record that is its own item, in memory.
template <class Key>
struct Pair {
  Key key;
  Key value;
};

template <class Key>
__device__ Key order_key(Key key, const KeyTransform& transform) {
  std::uint64_t word = key;
  if (transform.is_float) word = KeyView::order_float(word, sizeof(Key));
  return static_cast<Key>(word ^ transform.flip);
}

template <class Key>
__device__ Key restore_key(Key key, const KeyTransform& transform) {
  std::uint64_t word = key ^ transform.flip;
  if (transform.is_float) word = KeyView::restore_float(word, sizeof(Key));
  return static_cast<Key>(word);
}

template <class Key>
__global__ void load_keys(const Key* records, KeyTransform transform, std::size_t n, Key* keys) {
  for (std::size_t i = first_index(); i < n; i += stride()) {
    keys[i] = order_key(records[i], transform);
  }
}

template <class Key>
__global__ void store_keys(const Key* keys, KeyTransform transform, std::size_t n, Key* records) {
  for (std::size_t i = first_index(); i < n; i += stride()) {
    records[i] = restore_key(keys[i], transform);
  }
}

template <class Key>
__global__ void load_pairs(const Pair<Key>* records, KeyTransform transform, std::size_t n,
                           Key* keys, Key* values) {
  for (std::size_t i = first_index(); i < n; i += stride()) {
    const Pair<Key> record = records[i];
    keys[i] = order_key(record.key, transform);
    if (values != nullptr) values[i] = record.value;
  }
}

template <class Key>
__global__ void store_pairs(const Key* keys, const Key* values, KeyTransform transform,
                            std::size_t n, Pair<Key>* records) {
  for (std::size_t i = first_index(); i < n; i += stride()) {
    records[i] = {restore_key(keys[i], transform), values[i]};
  }
}

__global__ void load_addresses(const std::byte* records, std::size_t record_bytes, KeyView view,
                               std::size_t n, std::uint64_t* keys, std::uint64_t* values) {
  for (std::size_t i = first_index(); i < n; i += stride()) {
    const auto address = reinterpret_cast<std::uint64_t>(records + i * record_bytes);
    keys[i] = view.word(address, 0);
    values[i] = address;
  }
}

// Records of `units` units each.
template <class Unit>
__global__ void gather_records(const std::uint64_t* addresses, std::size_t n, std::uint32_t units,
                               Unit* out) {
  const std::size_t all = n * units;
  for (std::size_t i = first_index(); i < all; i += stride()) {
    const std::size_t record = i / units;
    const auto unit = static_cast<std::uint32_t>(i - record * units);
    out[i] = reinterpret_cast<const Unit*>(addresses[record])[unit];
  }
}

template <class Unit>
void gather_fixed(const Items& items, std::size_t record_bytes, std::byte* records,
                  cudaStream_t stream) {
  const auto units = static_cast<std::uint32_t>(record_bytes / sizeof(Unit));
  gather_records<<<blocks_for(items.count * units), kThreads, 0, stream>>>(
      reinterpret_cast<const std::uint64_t*>(items.values), items.count, units,
      reinterpret_cast<Unit*>(records));
}

// The part that holds place `i`, one of [low, high].
__device__ std::size_t part_of(const std::uint64_t* starts, std::size_t low, std::size_t high,
                               std::uint64_t i) {
  while (low < high) {
    const std::size_t middle = (low + high + 1) / 2;
    if (starts[middle] <= i) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

constexpr unsigned kTileItems = 4096;

template <class Key, bool kValues>
__global__ void concatenate_tiles(const Items* parts, const std::uint64_t* starts,
                                  std::uint32_t count, Items to) {
  const std::uint64_t begin = std::uint64_t{blockIdx.x} * kTileItems;
  const std::uint64_t end = begin + kTileItems < to.count ? begin + kTileItems : to.count;
  __shared__ std::size_t low, high;
  if (threadIdx.x == 0) {
    low = part_of(starts, 0, count - 1, begin);
    high = part_of(starts, low, count - 1, end - 1);
  }
  __syncthreads();
  for (std::uint64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
    const std::size_t part = part_of(starts, low, high, i);
    const std::uint64_t at = i - starts[part];
    reinterpret_cast<Key*>(to.keys)[i] = reinterpret_cast<const Key*>(parts[part].keys)[at];
    if constexpr (kValues) {
      reinterpret_cast<Key*>(to.values)[i] = reinterpret_cast<const Key*>(parts[part].values)[at];
    }
  }
}

// --- cutting ---
//
// One block for each rank. Every sequence has an interval [low, high] in which its cut lies. A
// pivot is drawn at random from all that is left; searching it in all sequences gives its rank, and
// shrinks all intervals to one side of it (quickselect over sorted sequences). About 1.4
// log2(items) rounds.

constexpr unsigned kCutThreads = 256;

template <class Key>
struct Pivot {
  Key key;
  std::uint64_t value;
};

// Items of `sequence` in [low, high) that come before the pivot, which is an item of a later
// sequence (`ties_first`) or an earlier one.
template <class Key>
__device__ std::uint64_t search(const Items& sequence, std::uint64_t low, std::uint64_t high,
                                const Pivot<Key>& pivot, bool ties_first, const KeyView& view,
                                bool by_address) {
  const Key* const keys = reinterpret_cast<const Key*>(sequence.keys);
  while (low < high) {
    const std::uint64_t middle = (low + high) / 2;
    const Key key = keys[middle];
    bool before;
    if (key != pivot.key) {
      before = key < pivot.key;
    } else if (by_address) {
      const int order = view.compare_rest(
          key, reinterpret_cast<const std::uint64_t*>(sequence.values)[middle], pivot.value);
      before = order < 0 || (order == 0 && ties_first);
    } else {
      before = ties_first;
    }
    if (before) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

template <class Key>
__global__ void cut_at_ranks(KeyView view, bool by_address, const Items* sequences,
                             std::uint32_t count, const std::uint64_t* ranks, std::uint64_t* cuts) {
  extern __shared__ std::uint64_t intervals[];
  std::uint64_t* const low = intervals;
  std::uint64_t* const high = intervals + count;
  std::uint64_t* const found = intervals + 2 * count;
  __shared__ std::uint64_t sums[kCutThreads];
  __shared__ Pivot<Key> pivot;
  __shared__ std::uint32_t pivot_sequence;
  __shared__ std::uint64_t pivot_item;
  __shared__ bool done;
  const std::uint64_t rank = ranks[blockIdx.x];
  const std::uint32_t each = (count + kCutThreads - 1) / kCutThreads;
  const std::uint32_t from = min(threadIdx.x * each, count), to = min(from + each, count);
  for (std::uint32_t s = from; s < to; ++s) {
    low[s] = 0;
    high[s] = sequences[s].count;
  }
  std::uint64_t random = rank * 0x9e3779b97f4a7c15u + blockIdx.x + 1;
  __syncthreads();
  for (;;) {
    std::uint64_t left = 0;
    for (std::uint32_t s = from; s < to; ++s) left += high[s] - low[s];
    sums[threadIdx.x] = left;
    __syncthreads();
    if (threadIdx.x == 0) {
      std::uint64_t all = 0;
      for (unsigned t = 0; t < kCutThreads; ++t) all += sums[t];
      done = all == 0;
      if (!done) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        std::uint64_t at = random % all;
        unsigned t = 0;
        while (at >= sums[t]) at -= sums[t++];
        std::uint32_t s = t * each;
        while (at >= high[s] - low[s]) at -= high[s] - low[s], ++s;
        pivot_sequence = s;
        pivot_item = low[s] + at;
        pivot.key = reinterpret_cast<const Key*>(sequences[s].keys)[pivot_item];
        pivot.value = by_address
                          ? reinterpret_cast<const std::uint64_t*>(sequences[s].values)[pivot_item]
                          : 0;
      }
    }
    __syncthreads();
    if (done) break;
    std::uint64_t before = 0;
    for (std::uint32_t s = from; s < to; ++s) {
      found[s] = s == pivot_sequence ? pivot_item
                                     : search(sequences[s], low[s], high[s], pivot,
                                              s < pivot_sequence, view, by_address);
      before += found[s];
    }
    __syncthreads();
    sums[threadIdx.x] = before;
    __syncthreads();
    std::uint64_t pivot_rank = 0;
    for (unsigned t = 0; t < kCutThreads; ++t) pivot_rank += sums[t];
    for (std::uint32_t s = from; s < to; ++s) {
      if (pivot_rank < rank) {
        low[s] = s == pivot_sequence ? found[s] + 1 : found[s];
      } else {
        high[s] = found[s];
      }
    }
    __syncthreads();
  }
  for (std::uint32_t s = from; s < to; ++s) {
    cuts[std::size_t{blockIdx.x} * count + s] = low[s];
  }
}

// --- text ---

__global__ void find_longest(const std::uint64_t* offsets, std::size_t n,
                             unsigned long long* longest) {
  unsigned long long most = 0;
  for (std::size_t i = first_index(); i < n; i += stride()) {
    const unsigned long long bytes = offsets[i + 1] - offsets[i];
    most = bytes > most ? bytes : most;
  }
  if (most > 0) atomicMax(longest, most);
}

__global__ void find_slices(const std::uint64_t* offsets, std::size_t n, std::uint64_t most_bytes,
                            GeneralSlice* slices, std::size_t most_slices) {
  if (slices[0].bytes > most_bytes) return;
  std::size_t count = 0;
  for (std::size_t first = 0; first < n && count < most_slices; ++count) {
    std::size_t low = first + 1, high = n;  // the last end within reach
    while (low < high) {
      const std::size_t middle = (low + high + 1) / 2;
      if (offsets[middle] - offsets[first] <= most_bytes) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    slices[count + 1] = {first, low - first, offsets[low] - offsets[first]};
    first = low;
  }
  slices[0].count = count;
}

// Threads of `group` lanes copy one record after the other.
__global__ void gather_lines(const std::uint64_t* addresses, const std::uint64_t* offsets,
                             std::size_t first, std::size_t n, unsigned group, char terminator,
                             char* out) {
  const std::size_t groups = stride() / group;
  const unsigned lane = threadIdx.x % group;
  const std::uint64_t base = offsets[first];
  for (std::size_t i = first_index() / group; i < n; i += groups) {
    const auto* const header = reinterpret_cast<const EntryHeader*>(addresses[first + i]);
    const std::uint32_t bytes = header->record_bytes;
    const char* from = reinterpret_cast<const char*>(header + 1);
    if (header->key_bytes != kKeyIsRecord) from += (std::size_t{header->key_bytes} + 7) / 8 * 8;
    char* const to = out + (offsets[first + i] - base);
    for (std::uint32_t b = lane; b < bytes; b += group) to[b] = from[b];
    if (lane == 0) to[bytes] = terminator;
  }
}

constexpr std::uint64_t kLongRecord = 1024;  // on average: blocks copy them, not warps

}  // namespace

void CudaStream::load(const RecordShape& shape, const KeyView& view, const std::byte* records,
                      const Items& items) {
  use();
  const std::size_t n = items.count;
  const unsigned blocks = blocks_for(n);
  if (shape.by_address) {
    load_addresses<<<blocks, kThreads, 0, stream_>>>(
        records, shape.record_bytes, view, n, reinterpret_cast<std::uint64_t*>(items.keys),
        reinterpret_cast<std::uint64_t*>(items.values));
    return check_launch("load");
  }
  with_key(shape.item.key_bytes, [&](auto zero) {
    using Key = decltype(zero);
    auto* const keys = reinterpret_cast<Key*>(items.keys);
    if (shape.item.value_bytes == 0) {
      load_keys<<<blocks, kThreads, 0, stream_>>>(reinterpret_cast<const Key*>(records),
                                                  shape.transform, n, keys);
    } else {
      load_pairs<<<blocks, kThreads, 0, stream_>>>(reinterpret_cast<const Pair<Key>*>(records),
                                                   shape.transform, n, keys,
                                                   reinterpret_cast<Key*>(items.values));
    }
  });
  check_launch("load");
}

void CudaStream::store(const RecordShape& shape, const Items& items, std::byte* records) {
  use();
  const std::size_t n = items.count;
  const unsigned blocks = blocks_for(n);
  if (shape.by_address) {
    if (shape.record_bytes % sizeof(uint4) == 0) {
      gather_fixed<uint4>(items, shape.record_bytes, records, stream_);
    } else if (shape.record_bytes % sizeof(std::uint64_t) == 0) {
      gather_fixed<std::uint64_t>(items, shape.record_bytes, records, stream_);
    } else if (shape.record_bytes % sizeof(std::uint32_t) == 0) {
      gather_fixed<std::uint32_t>(items, shape.record_bytes, records, stream_);
    } else {
      gather_fixed<std::uint8_t>(items, shape.record_bytes, records, stream_);
    }
    return check_launch("store");
  }
  with_key(shape.item.key_bytes, [&](auto zero) {
    using Key = decltype(zero);
    const auto* const keys = reinterpret_cast<const Key*>(items.keys);
    if (shape.item.value_bytes == 0) {
      store_keys<<<blocks, kThreads, 0, stream_>>>(keys, shape.transform, n,
                                                   reinterpret_cast<Key*>(records));
    } else {
      store_pairs<<<blocks, kThreads, 0, stream_>>>(
          keys, reinterpret_cast<const Key*>(items.values), shape.transform, n,
          reinterpret_cast<Pair<Key>*>(records));
    }
  });
  check_launch("store");
}

void CudaStream::concatenate(const ItemShape& shape, std::span<const Items> parts,
                             const Items& to) {
  use();
  std::vector<std::uint64_t> starts(parts.size() + 1, 0);
  for (std::size_t i = 0; i < parts.size(); ++i) starts[i + 1] = starts[i] + parts[i].count;
  const std::size_t part_bytes = round_up(parts.size_bytes(), kTableAlignment);
  std::byte* const table = tables_.get(part_bytes + starts.size() * sizeof starts[0]);
  upload(table, parts.data(), parts.size_bytes());
  upload(table + part_bytes, starts.data(), starts.size() * sizeof starts[0]);
  const auto* const part_table = reinterpret_cast<const Items*>(table);
  const auto* const start_table = reinterpret_cast<const std::uint64_t*>(table + part_bytes);
  const auto count = static_cast<std::uint32_t>(parts.size());
  const auto tiles = static_cast<unsigned>(ceil_div<std::size_t>(to.count, kTileItems));
  with_key(shape.key_bytes, [&](auto zero) {
    using Key = decltype(zero);
    if (shape.value_bytes == 0) {
      concatenate_tiles<Key, false>
          <<<tiles, kThreads, 0, stream_>>>(part_table, start_table, count, to);
    } else {
      concatenate_tiles<Key, true>
          <<<tiles, kThreads, 0, stream_>>>(part_table, start_table, count, to);
    }
  });
  check_launch("concatenate");
}

std::vector<std::uint64_t> CudaStream::cut(const ItemShape& shape, const KeyView& view,
                                           bool by_address, std::span<const Items> sequences,
                                           std::span<const std::uint64_t> ranks) {
  use();
  const std::size_t sequence_bytes = round_up(sequences.size_bytes(), kTableAlignment);
  const std::size_t rank_bytes = round_up(ranks.size_bytes(), kTableAlignment);
  const std::size_t cut_count = ranks.size() * sequences.size();
  std::byte* const table =
      tables_.get(sequence_bytes + rank_bytes + cut_count * sizeof(std::uint64_t));
  upload(table, sequences.data(), sequences.size_bytes());
  upload(table + sequence_bytes, ranks.data(), ranks.size_bytes());
  auto* const cuts = reinterpret_cast<std::uint64_t*>(table + sequence_bytes + rank_bytes);
  const std::size_t shared = 3 * sequences.size() * sizeof(std::uint64_t);
  with_key(shape.key_bytes, [&](auto zero) {
    const auto kernel = &cut_at_ranks<decltype(zero)>;
    check_cuda(
        cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                             cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)),
        "cut");
    kernel<<<static_cast<unsigned>(ranks.size()), kCutThreads, shared, stream_>>>(
        view, by_address, reinterpret_cast<const Items*>(table),
        static_cast<std::uint32_t>(sequences.size()),
        reinterpret_cast<const std::uint64_t*>(table + sequence_bytes), cuts);
  });
  check_launch("cut");
  std::vector<std::uint64_t> result(cut_count);
  check_cuda(cudaMemcpyAsync(result.data(), cuts, cut_count * sizeof cuts[0],
                             cudaMemcpyDeviceToHost, stream_),
             "cut");
  wait("cut");
  return result;
}

std::vector<GeneralSlice> CudaStream::slice_text(const Items& items, std::uint64_t most_bytes,
                                                 std::uint64_t* offsets,
                                                 std::span<std::byte> scratch) {
  use();
  measure_text(items, offsets, scratch);
  // Slices begin where the last one is full. The first of the table says how many follow, and has
  // the bytes of the longest record.
  const std::size_t most_slices = scratch.size() / sizeof(GeneralSlice) - 1;
  auto* const slices = reinterpret_cast<GeneralSlice*>(scratch.data());
  check_cuda(cudaMemsetAsync(slices, 0, sizeof slices[0], stream_), "slice text");
  static_assert(sizeof(unsigned long long) == sizeof slices->bytes);
  find_longest<<<blocks_for(items.count), kThreads, 0, stream_>>>(
      offsets, items.count, reinterpret_cast<unsigned long long*>(&slices->bytes));
  find_slices<<<1, 1, 0, stream_>>>(offsets, items.count, most_bytes, slices, most_slices);
  check_launch("slice text");
  GeneralSlice sum;
  check_cuda(cudaMemcpyAsync(&sum, slices, sizeof sum, cudaMemcpyDeviceToHost, stream_),
             "slice text");
  wait("slice text");
  if (sum.bytes > most_bytes) {
    throw Error(ErrorCode::no_space, "a record is too long for a GPU");
  }
  std::vector<GeneralSlice> result(sum.count);
  check_cuda(cudaMemcpyAsync(result.data(), slices + 1, result.size() * sizeof sum,
                             cudaMemcpyDeviceToHost, stream_),
             "slice text");
  wait("slice text");
  std::size_t sliced = 0;
  for (const GeneralSlice& slice : result) sliced += slice.count;
  XXL_CHECK(sliced == items.count);
  return result;
}

void CudaStream::gather_text(const Items& items, const GeneralSlice& slice,
                             const std::uint64_t* offsets, char terminator, std::byte* records) {
  use();
  if (slice.count == 0) return;
  const unsigned group = slice.bytes / slice.count >= kLongRecord ? kThreads : 32;
  gather_lines<<<blocks_for(slice.count * group), kThreads, 0, stream_>>>(
      reinterpret_cast<const std::uint64_t*>(items.values), offsets, slice.first, slice.count,
      group, terminator, reinterpret_cast<char*>(records));
  check_launch("gather text");
}

}  // namespace xxl::gpu
