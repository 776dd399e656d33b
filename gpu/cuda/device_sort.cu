// Sorting, by CUB.
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <cuda/std/bit>

#include <algorithm>
#include <bit>

#include "base/units.h"
#include "gpu/cuda/cuda_stream.cuh"

namespace xxl::gpu {
namespace {

using Count = std::uint32_t;  // of items that are sorted at once

constexpr std::size_t kAlignment = 256;
constexpr unsigned kThreads = 256;

unsigned blocks_for(std::size_t count) {
  return static_cast<unsigned>(ceil_div<std::size_t>(std::max<std::size_t>(count, 1), kThreads));
}

// Calls `call(temporary memory, its size)`, first to ask for the size.
template <class Call>
void with_temporary(std::span<std::byte> memory, const char* operation, Call call) {
  std::size_t bytes = 0;
  check_cuda(call(nullptr, bytes), operation);
  XXL_CHECK(bytes <= memory.size());
  bytes = memory.size();
  check_cuda(call(memory.data(), bytes), operation);
}

template <class Key, class Value>
cudaError_t sort_pairs(void* temporary, std::size_t& bytes, cub::DoubleBuffer<Key>& keys,
                       cub::DoubleBuffer<Value>& values, std::size_t count, int bits,
                       cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, values, static_cast<Count>(count),
                                         0, bits, stream);
}

// Sorts `keys`; if `pairs`, also `values`, which have the same type.
template <class Key>
cudaError_t sort_items(void* temporary, std::size_t& bytes, bool pairs,
                       cub::DoubleBuffer<Key>& keys, cub::DoubleBuffer<Key>& values,
                       std::size_t count, cudaStream_t stream) {
  constexpr int kBits = 8 * sizeof(Key);
  if (pairs) return sort_pairs(temporary, bytes, keys, values, count, kBits, stream);
  return cub::DeviceRadixSort::SortKeys(temporary, bytes, keys, static_cast<Count>(count), 0, kBits,
                                        stream);
}

template <class Key, class Value>
std::size_t pair_sort_bytes(std::size_t count) {
  std::size_t bytes = 0;
  cub::DoubleBuffer<Key> keys(nullptr, nullptr);
  cub::DoubleBuffer<Value> values(nullptr, nullptr);
  check_cuda(sort_pairs(nullptr, bytes, keys, values, count, 8 * sizeof(Key), nullptr),
             "plan a sort");
  return bytes;
}

}  // namespace

void CudaStream::sort(const ItemShape& shape, const Items& from, const Items& to,
                      std::span<std::byte> scratch) {
  use();
  if (from.count == 0) return;
  const bool pairs = shape.value_bytes != 0;
  XXL_CHECK(!pairs || shape.key_bytes == shape.value_bytes);
  with_key(shape.key_bytes, [&](auto zero) {
    using Key = decltype(zero);
    cub::DoubleBuffer<Key> keys(reinterpret_cast<Key*>(from.keys), reinterpret_cast<Key*>(to.keys));
    cub::DoubleBuffer<Key> values(reinterpret_cast<Key*>(from.values),
                                  reinterpret_cast<Key*>(to.values));
    with_temporary(scratch, "sort", [&](void* temporary, std::size_t& bytes) {
      return sort_items(temporary, bytes, pairs, keys, values, from.count, stream_);
    });
    if (keys.Current() == reinterpret_cast<Key*>(to.keys)) return;
    check_cuda(cudaMemcpyAsync(to.keys, keys.Current(), from.count * sizeof(Key),
                               cudaMemcpyDeviceToDevice, stream_),
               "sort");
    if (!pairs) return;
    check_cuda(cudaMemcpyAsync(to.values, values.Current(), from.count * sizeof(Key),
                               cudaMemcpyDeviceToDevice, stream_),
               "sort");
  });
}

std::size_t sort_scratch_bytes(const ItemShape& shape, std::size_t count) {
  std::size_t bytes = 0;
  with_key(shape.key_bytes, [&](auto zero) {
    cub::DoubleBuffer<decltype(zero)> keys(nullptr, nullptr), values(nullptr, nullptr);
    check_cuda(sort_items(nullptr, bytes, shape.value_bytes != 0, keys, values, count, nullptr),
               "plan a sort");
  });
  return bytes;
}

// --- refining ---
//
// Members are the items that tie with a neighbour, in order. Each round sorts them by (group, next
// word), groups being the members that tied so far, and keeps those that still tie. From the second
// round on, a group first skips the words that all its members share, so that long common parts
// (equal long lines, URLs of one site) take few rounds.

namespace {

constexpr std::uint32_t kSkippedWords = 2048;  // at most, in a round
constexpr std::uint32_t kSkipFromRound = 2;

// Arrays of one entry for each member.
struct Members {
  std::uint32_t* place;  // of the item
  std::uint32_t* group;  // ascending numbers, below those of all members of the last round
  std::uint32_t* depth;  // index of the word that tied last
};

struct RefineMemory {
  Members now;
  Members next;
  std::uint64_t* words;
  std::uint64_t* words_out;
  std::uint32_t* order;
  std::uint32_t* order_out;
  std::uint32_t* sorted_group;
  std::uint32_t* sorted_group_out;
  std::uint64_t* addresses;
  std::uint32_t* heads;   // 1 where a group begins; then the number of its group, from 1 on
  std::uint32_t* common;  // words that a group shares; and where it begins
  std::uint32_t* first;
  std::uint8_t* ties;
  std::uint32_t* count;
  std::span<std::byte> temporary;

  static std::size_t bytes(std::size_t n, std::size_t temporary) {
    RefineMemory memory;
    return memory.carve(nullptr, n) + temporary;
  }

  std::size_t carve(std::byte* begin, std::size_t n) {
    std::size_t used = 0;
    const auto take = [&](auto*& pointer) {
      pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(begin + used);
      used += round_up(n * sizeof *pointer, kAlignment);
    };
    for (Members* members : {&now, &next}) {
      take(members->place);
      take(members->group);
      take(members->depth);
    }
    take(words);
    take(words_out);
    take(order);
    take(order_out);
    take(sorted_group);
    take(sorted_group_out);
    take(addresses);
    take(heads);
    take(common);
    take(first);
    take(ties);
    count = reinterpret_cast<std::uint32_t*>(begin + used);
    return used + kAlignment;
  }
};

std::size_t temporary_bytes(std::size_t n) {
  std::size_t most = std::max(pair_sort_bytes<std::uint64_t, std::uint32_t>(n),
                              pair_sort_bytes<std::uint32_t, std::uint32_t>(n));
  std::size_t bytes = 0;
  std::uint32_t* words = nullptr;
  std::uint8_t* flags = nullptr;
  check_cuda(
      cub::DeviceSelect::Flagged(nullptr, bytes, words, flags, words, words, static_cast<Count>(n)),
      "plan a sort");
  most = std::max(most, bytes);
  check_cuda(cub::DeviceScan::InclusiveSum(nullptr, bytes, words, words, static_cast<Count>(n)),
             "plan a sort");
  most = std::max(most, bytes);
  std::uint64_t* offsets = nullptr;
  check_cuda(
      cub::DeviceScan::ExclusiveSum(nullptr, bytes, offsets, offsets, static_cast<Count>(n + 1)),
      "plan a sort");
  return round_up(std::max(most, bytes), kAlignment) + kAlignment;
}

__global__ void mark_ties(KeyView view, const std::uint64_t* keys, std::uint32_t n,
                          std::uint8_t* ties) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const std::uint64_t key = keys[i];
  const bool same = (i > 0 && keys[i - 1] == key) || (i + 1 < n && keys[i + 1] == key);
  ties[i] = same && !view.is_last(key, 0);
}

__global__ void mark_first_heads(const std::uint64_t* keys, const std::uint32_t* places,
                                 std::uint32_t n, std::uint32_t* heads, std::uint32_t* depths) {
  const std::uint32_t j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= n) return;
  const std::uint32_t place = places[j];
  heads[j] = j == 0 || keys[place] != keys[places[j - 1]];
  depths[j] = 0;
}

__global__ void reset_common(std::uint32_t n, std::uint32_t* common) {
  const std::uint32_t j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < n) common[j] = kSkippedWords;
}

__global__ void find_first(const std::uint32_t* groups, std::uint32_t n, std::uint32_t* first) {
  const std::uint32_t j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < n && (j == 0 || groups[j - 1] != groups[j])) first[groups[j]] = j;
}

// How many words after `depth` each member shares with the first one of its group.
__global__ void measure_common(KeyView view, const std::uint64_t* addresses, Members members,
                               const std::uint32_t* first, std::uint32_t n, std::uint32_t* common) {
  const std::uint32_t j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= n) return;
  const std::uint32_t group = members.group[j];
  const std::uint32_t leader = first[group];
  if (leader == j) return;
  const std::uint64_t a = addresses[members.place[leader]];
  const std::uint64_t b = addresses[members.place[j]];
  const std::uint32_t depth = members.depth[j];
  std::uint32_t shared = 0;
  for (; shared < kSkippedWords; ++shared) {
    const std::uint64_t word = view.word(a, depth + 1 + shared);
    if (view.word(b, depth + 1 + shared) != word || view.is_last(word, depth + 1 + shared)) break;
  }
  if (shared < common[group]) atomicMin(&common[group], shared);
}

__global__ void skip_common(const std::uint32_t* groups, const std::uint32_t* common,
                            std::uint32_t n, std::uint32_t* depths) {
  const std::uint32_t j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < n) depths[j] += common[groups[j]];
}

__global__ void load_words(KeyView view, const std::uint64_t* addresses, Members members,
                           std::uint32_t n, std::uint64_t* words, std::uint32_t* order) {
  const std::uint32_t j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= n) return;
  words[j] = view.word(addresses[members.place[j]], members.depth[j] + 1);
  order[j] = j;
}

__global__ void load_groups(const std::uint32_t* order, const std::uint32_t* groups,
                            std::uint32_t n, std::uint32_t* sorted) {
  const std::uint32_t j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < n) sorted[j] = groups[order[j]];
}

__global__ void load_addresses(const std::uint32_t* order, const std::uint32_t* places,
                               const std::uint64_t* addresses, std::uint32_t n,
                               std::uint64_t* sorted) {
  const std::uint32_t j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < n) sorted[j] = addresses[places[order[j]]];
}

// Members are in order now: groups have not moved, so depths have not either.
__global__ void store_addresses(KeyView view, const std::uint64_t* sorted, Members members,
                                std::uint32_t n, std::uint64_t* addresses, std::uint64_t* words,
                                std::uint32_t* next_depth) {
  const std::uint32_t j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= n) return;
  addresses[members.place[j]] = sorted[j];
  words[j] = view.word(sorted[j], members.depth[j] + 1);
  next_depth[j] = members.depth[j] + 1;
}

__global__ void mark_members(KeyView view, const std::uint64_t* words, const std::uint32_t* groups,
                             const std::uint32_t* depths, std::uint32_t n, std::uint32_t* heads,
                             std::uint8_t* ties) {
  const std::uint32_t j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= n) return;
  const auto same = [&](std::uint32_t a, std::uint32_t b) {
    return words[a] == words[b] && groups[a] == groups[b];
  };
  const bool before = j > 0 && same(j - 1, j);
  const bool behind = j + 1 < n && same(j, j + 1);
  heads[j] = !before;
  ties[j] = (before || behind) && !view.is_last(words[j], depths[j]);
}

__global__ void number_from_zero(std::uint32_t n, std::uint32_t* groups) {
  const std::uint32_t j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < n) --groups[j];
}

class Refiner {
 public:
  Refiner(const KeyView& view, const Items& items, std::span<std::byte> scratch,
          cudaStream_t stream)
      : view_(view),
        keys_(reinterpret_cast<std::uint64_t*>(items.keys)),
        addresses_(reinterpret_cast<std::uint64_t*>(items.values)),
        n_(static_cast<std::uint32_t>(items.count)),
        stream_(stream) {
    const std::size_t used = memory_.carve(scratch.data(), n_);
    XXL_CHECK(used <= scratch.size());
    memory_.temporary = scratch.subspan(used);
  }

  void run() {
    mark_ties<<<blocks_for(n_), kThreads, 0, stream_>>>(view_, keys_, n_, memory_.ties);
    check_launch("refine");
    std::uint32_t members =
        select(thrust::counting_iterator<std::uint32_t>(0), n_, memory_.now.place);
    if (members == 0) return;
    const unsigned blocks = blocks_for(members);
    mark_first_heads<<<blocks, kThreads, 0, stream_>>>(keys_, memory_.now.place, members,
                                                       memory_.heads, memory_.now.depth);
    check_launch("refine");
    number_groups(members, memory_.now.group);
    groups_below_ = members;
    for (std::uint32_t round = 1; members > 0; ++round) members = next_round(round, members);
  }

 private:
  template <class From>
  std::uint32_t select(From from, std::uint32_t n, std::uint32_t* to) {
    with_temporary(memory_.temporary, "refine", [&](void* temporary, std::size_t& bytes) {
      return cub::DeviceSelect::Flagged(temporary, bytes, from, memory_.ties, to, memory_.count, n,
                                        stream_);
    });
    std::uint32_t count;
    check_cuda(
        cudaMemcpyAsync(&count, memory_.count, sizeof count, cudaMemcpyDeviceToHost, stream_),
        "refine");
    check_cuda(cudaStreamSynchronize(stream_), "refine");
    return count;
  }

  void number_groups(std::uint32_t n, std::uint32_t* groups) {
    with_temporary(memory_.temporary, "refine", [&](void* temporary, std::size_t& bytes) {
      return cub::DeviceScan::InclusiveSum(temporary, bytes, memory_.heads, groups, n, stream_);
    });
    number_from_zero<<<blocks_for(n), kThreads, 0, stream_>>>(n, groups);
    check_launch("refine");
  }

  std::uint32_t next_round(std::uint32_t round, std::uint32_t n) {
    Members& now = memory_.now;
    const unsigned blocks = blocks_for(n);
    if (round >= kSkipFromRound) {
      reset_common<<<blocks_for(groups_below_), kThreads, 0, stream_>>>(groups_below_,
                                                                        memory_.common);
      find_first<<<blocks, kThreads, 0, stream_>>>(now.group, n, memory_.first);
      measure_common<<<blocks, kThreads, 0, stream_>>>(view_, addresses_, now, memory_.first, n,
                                                       memory_.common);
      skip_common<<<blocks, kThreads, 0, stream_>>>(now.group, memory_.common, n, now.depth);
    }
    load_words<<<blocks, kThreads, 0, stream_>>>(view_, addresses_, now, n, memory_.words,
                                                 memory_.order);
    check_launch("refine");
    cub::DoubleBuffer<std::uint64_t> words(memory_.words, memory_.words_out);
    cub::DoubleBuffer<std::uint32_t> order(memory_.order, memory_.order_out);
    with_temporary(memory_.temporary, "refine", [&](void* temporary, std::size_t& bytes) {
      return sort_pairs(temporary, bytes, words, order, n, 64, stream_);
    });
    load_groups<<<blocks, kThreads, 0, stream_>>>(order.Current(), now.group, n,
                                                  memory_.sorted_group);
    check_launch("refine");
    cub::DoubleBuffer<std::uint32_t> groups(memory_.sorted_group, memory_.sorted_group_out);
    const int bits = std::max<int>(1, std::bit_width(groups_below_));
    with_temporary(memory_.temporary, "refine", [&](void* temporary, std::size_t& bytes) {
      return sort_pairs(temporary, bytes, groups, order, n, bits, stream_);
    });
    load_addresses<<<blocks, kThreads, 0, stream_>>>(order.Current(), now.place, addresses_, n,
                                                     memory_.addresses);
    store_addresses<<<blocks, kThreads, 0, stream_>>>(view_, memory_.addresses, now, n, addresses_,
                                                      memory_.words, memory_.sorted_group_out);
    std::uint32_t* const depths = memory_.sorted_group_out;
    mark_members<<<blocks, kThreads, 0, stream_>>>(view_, memory_.words, now.group, depths, n,
                                                   memory_.heads, memory_.ties);
    check_launch("refine");
    number_groups(n, memory_.sorted_group);
    const std::uint32_t left = select(now.place, n, memory_.next.place);
    if (left > 0) {
      select(memory_.sorted_group, n, memory_.next.group);
      select(depths, n, memory_.next.depth);
      std::swap(memory_.now, memory_.next);
      groups_below_ = n;
    }
    return left;
  }

  KeyView view_;
  const std::uint64_t* keys_;
  std::uint64_t* addresses_;
  std::uint32_t n_;
  cudaStream_t stream_;
  RefineMemory memory_;
  std::uint32_t groups_below_ = 0;  // all groups have smaller numbers
};

struct EntryBytes {
  const std::uint64_t* addresses;
  std::uint32_t count;
  __device__ std::uint64_t operator()(std::uint32_t i) const {
    if (i >= count) return 0;
    return reinterpret_cast<const EntryHeader*>(addresses[i])->record_bytes + std::uint64_t{1};
  }
};

}  // namespace

void CudaStream::refine(const KeyView& view, const Items& items, std::span<std::byte> scratch) {
  use();
  if (items.count < 2 || (!view.text && view.words < 2)) return;
  Refiner(view, items, scratch, stream_).run();
}

std::size_t refine_scratch_bytes(std::size_t count) {
  return RefineMemory::bytes(count, temporary_bytes(count));
}

void CudaStream::measure_text(const Items& items, std::uint64_t* offsets,
                              std::span<std::byte> scratch) const {
  const auto count = static_cast<std::uint32_t>(items.count);
  const auto sizes = thrust::make_transform_iterator(
      thrust::counting_iterator<std::uint32_t>(0),
      EntryBytes{reinterpret_cast<const std::uint64_t*>(items.values), count});
  with_temporary(scratch, "measure text", [&](void* temporary, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(temporary, bytes, sizes, offsets, count + 1, stream_);
  });
}

}  // namespace xxl::gpu
