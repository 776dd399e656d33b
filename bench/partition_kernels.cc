// What does it cost to distribute keys over many buckets? One core, blocks of 1 MiB of random u64,
// buckets kept as slabs of 16 KiB spread over 1 GiB of memory.
//
// classify: block -> bucket numbers (u16) and histogram.
//   bits        the leading bits, for buckets of equal width
//   table_while a table over the leading bits gives the first bucket that a cell meets; from there
//               step while the next splitter is not above the key
//   table       likewise, but the first step is taken without a branch
//   eytzinger   descent in a tree without branches, 8 keys at a time
//   classifier  the library's
// scatter: keys and bucket numbers -> slabs.
//   direct      every key straight to its slab
//   in_block    into a block in bucket order, from there in pieces to the slabs
//   streamed    lines of 8 keys are gathered for each bucket and stored past the caches
#include <benchmark/benchmark.h>
#include <emmintrin.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/memory_region.h"
#include "base/random.h"
#include "base/units.h"
#include "record/key_layout.h"
#include "record/record_format.h"
#include "sort/classifier.h"

namespace {

using Key = std::uint64_t;
constexpr std::size_t kBlockKeys = xxl::kMiB / sizeof(Key);
constexpr std::size_t kBlocks = 8;
constexpr std::size_t kSlabBytes = 16 * xxl::kKiB;
constexpr std::size_t kSlabKeys = kSlabBytes / sizeof(Key);

struct Ids {
  explicit Ids(std::size_t buckets) : id(kBlockKeys), counts(buckets) {}
  std::vector<std::uint16_t> id;
  std::vector<std::uint32_t> counts;
  void put(std::size_t i, std::size_t bucket) {
    id[i] = static_cast<std::uint16_t>(bucket);
    ++counts[bucket];
  }
};

// splitters[b] is the first key of bucket b; one more at the end, above all keys but the last.
std::vector<Key> sampled_splitters(std::size_t buckets) {
  constexpr std::size_t kOversampling = 32;
  xxl::Random random(1);
  std::vector<Key> sample(kOversampling * buckets);
  std::ranges::generate(sample, random);
  std::ranges::sort(sample);
  std::vector<Key> splitters(buckets + 1, 0);
  for (std::size_t b = 1; b < buckets; ++b) splitters[b] = sample[kOversampling * b];
  splitters[buckets] = ~Key{0};
  return splitters;
}

struct Bits {
  explicit Bits(std::size_t buckets) : shift(64 - static_cast<int>(std::bit_width(buckets - 1))) {}
  void operator()(const Key* keys, Ids& ids) const {
    for (std::size_t i = 0; i < kBlockKeys; ++i) ids.put(i, keys[i] >> shift);
  }
  int shift;
};

template <int kTableBits, bool kFirstStepBranches>
struct Table {
  explicit Table(std::size_t buckets)
      : splitters(sampled_splitters(buckets)), first(std::size_t{1} << kTableBits) {
    std::size_t bucket = 0;
    for (std::size_t cell = 0; cell < first.size(); ++cell) {
      while (bucket + 1 < buckets && Key{cell} << kShift >= splitters[bucket + 1]) ++bucket;
      first[cell] = static_cast<std::uint16_t>(bucket);
    }
  }
  void operator()(const Key* keys, Ids& ids) const {
    for (std::size_t i = 0; i < kBlockKeys; ++i) {
      const Key key = keys[i];
      std::size_t bucket = first[key >> kShift];
      if (!kFirstStepBranches) bucket += key >= splitters[bucket + 1];
      while (key >= splitters[bucket + 1]) ++bucket;
      ids.put(i, bucket);
    }
  }
  static constexpr int kShift = 64 - kTableBits;
  std::vector<Key> splitters;
  std::vector<std::uint16_t> first;
};

struct Eytzinger {
  static constexpr std::size_t kAtOnce = 8;
  explicit Eytzinger(std::size_t buckets) : tree(buckets) {
    const std::vector<Key> splitters = sampled_splitters(buckets);
    std::size_t next = 1;
    fill(splitters, next, 1);
  }
  void fill(const std::vector<Key>& splitters, std::size_t& next, std::size_t node) {
    if (node >= tree.size()) return;
    fill(splitters, next, 2 * node);
    tree[node] = splitters[next++];
    fill(splitters, next, 2 * node + 1);
  }
  void operator()(const Key* keys, Ids& ids) const {
    const int levels = std::countr_zero(tree.size());
    for (std::size_t i = 0; i < kBlockKeys; i += kAtOnce) {
      std::size_t node[kAtOnce];
      std::fill_n(node, kAtOnce, 1);
      for (int level = 0; level < levels; ++level) {
        for (std::size_t j = 0; j < kAtOnce; ++j) {
          node[j] = 2 * node[j] + (keys[i + j] >= tree[node[j]]);
        }
      }
      for (std::size_t j = 0; j < kAtOnce; ++j) ids.put(i + j, node[j] - tree.size());
    }
  }
  std::vector<Key> tree;
};

struct LibraryClassifier {
  explicit LibraryClassifier(std::size_t buckets)
      : layout(xxl::parse_record_format("u64")), classifier(layout) {
    const std::vector<Key> first = sampled_splitters(buckets);
    std::vector<xxl::SplitterKey> splitters;
    for (std::size_t b = 1; b < buckets; ++b) splitters.push_back({first[b]});
    classifier.set_splitters(std::move(splitters));
  }
  void operator()(const Key* keys, Ids& ids) const {
    classifier.classify({reinterpret_cast<const std::byte*>(keys), kBlockKeys}, ids.id.data(),
                        ids.counts.data());
  }
  xxl::KeyLayout layout;
  xxl::Classifier classifier;
};

// Slabs in random places of 1 GiB, used again and again.
class Slabs {
 public:
  Slabs() : memory_(xxl::kGiB), order_(xxl::kGiB / kSlabBytes) {
    std::ranges::fill(memory_.span(), std::byte{1});
    std::iota(order_.begin(), order_.end(), 0u);
    std::shuffle(order_.begin(), order_.end(), xxl::Random(2));
  }
  Key* take() {
    next_ = (next_ + 1) % order_.size();
    return reinterpret_cast<Key*>(memory_.data() + order_[next_] * kSlabBytes);
  }

 private:
  xxl::MemoryRegion memory_;
  std::vector<std::size_t> order_;
  std::size_t next_ = 0;
};

bool at_slab_start(const Key* place) {
  return reinterpret_cast<std::uintptr_t>(place) % kSlabBytes == 0;
}

using Places = std::vector<Key*>;  // where the next key of each bucket goes

struct Direct {
  explicit Direct(std::size_t) {}
  void operator()(const Key* keys, const Ids& ids, Places& places, Slabs& slabs) const {
    for (std::size_t i = 0; i < kBlockKeys; ++i) {
      Key*& place = places[ids.id[i]];
      *place++ = keys[i];
      if (at_slab_start(place)) place = slabs.take();
    }
  }
};

struct InBlock {
  explicit InBlock(std::size_t buckets) : memory(xxl::kMiB), next(buckets) {}
  void operator()(const Key* keys, const Ids& ids, Places& places, Slabs& slabs) {
    Key* const block = reinterpret_cast<Key*>(memory.data());
    std::exclusive_scan(ids.counts.begin(), ids.counts.end(), next.begin(), 0u);
    for (std::size_t i = 0; i < kBlockKeys; ++i) block[next[ids.id[i]]++] = keys[i];
    const Key* from = block;
    for (std::size_t b = 0; b < places.size(); ++b) {
      for (std::size_t left = ids.counts[b]; left > 0;) {
        const auto used = reinterpret_cast<std::uintptr_t>(places[b]) % kSlabBytes / sizeof(Key);
        const std::size_t part = std::min(left, kSlabKeys - used);
        for (std::size_t i = 0; i < part; ++i) places[b][i] = from[i];
        from += part;
        left -= part;
        places[b] += part;
        if (at_slab_start(places[b])) places[b] = slabs.take();
      }
    }
  }
  xxl::MemoryRegion memory;
  std::vector<std::uint32_t> next;
};

struct Streamed {
  static constexpr std::size_t kLineKeys = 8;
  struct alignas(64) Line {
    Key key[kLineKeys];
  };
  explicit Streamed(std::size_t buckets) : lines(buckets) {}
  void operator()(const Key* keys, const Ids& ids, Places& places, Slabs& slabs) {
    for (std::size_t i = 0; i < kBlockKeys; ++i) {
      Key*& place = places[ids.id[i]];
      Line& line = lines[ids.id[i]];
      const auto index = reinterpret_cast<std::uintptr_t>(place) / sizeof(Key) % kLineKeys;
      line.key[index] = keys[i];
      ++place;
      if (index + 1 < kLineKeys) continue;
      const auto* from = reinterpret_cast<const __m128i*>(line.key);
      auto* to = reinterpret_cast<__m128i*>(place - kLineKeys);
      for (int j = 0; j < 4; ++j) _mm_stream_si128(to + j, from[j]);
      if (at_slab_start(place)) place = slabs.take();
    }
    _mm_sfence();
  }
  std::vector<Line> lines;
};

xxl::MemoryRegion random_blocks() {
  xxl::MemoryRegion memory(kBlocks * xxl::kMiB);
  xxl::Random random(3);
  Key* const keys = reinterpret_cast<Key*>(memory.data());
  std::generate_n(keys, kBlocks * kBlockKeys, random);
  return memory;
}

void set_processed(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBlockKeys));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(xxl::kMiB));
}

template <class Classify>
void classify(benchmark::State& state) {
  const auto buckets = static_cast<std::size_t>(state.range(0));
  const xxl::MemoryRegion memory = random_blocks();
  const Key* const keys = reinterpret_cast<const Key*>(memory.data());
  const Classify classify_block(buckets);
  Ids ids(buckets);
  std::size_t block = 0;
  for (auto _ : state) {
    std::ranges::fill(ids.counts, 0u);
    classify_block(keys + block * kBlockKeys, ids);
    benchmark::ClobberMemory();
    block = (block + 1) % kBlocks;
  }
  set_processed(state);
}

template <class Scatter>
void scatter(benchmark::State& state) {
  const auto buckets = static_cast<std::size_t>(state.range(0));
  const xxl::MemoryRegion memory = random_blocks();
  const Key* const keys = reinterpret_cast<const Key*>(memory.data());
  const Bits bits(buckets);
  std::vector<Ids> ids(kBlocks, Ids(buckets));
  for (std::size_t b = 0; b < kBlocks; ++b) bits(keys + b * kBlockKeys, ids[b]);
  const auto slabs = std::make_unique<Slabs>();
  Places places(buckets);
  for (Key*& place : places) place = slabs->take();
  Scatter scatter_block(buckets);
  std::size_t block = 0;
  for (auto _ : state) {
    scatter_block(keys + block * kBlockKeys, ids[block], places, *slabs);
    benchmark::ClobberMemory();
    block = (block + 1) % kBlocks;
  }
  set_processed(state);
}

void bucket_numbers(benchmark::internal::Benchmark* b) {
  b->Arg(256)->Arg(1024)->Arg(2048);
}

BENCHMARK_TEMPLATE(classify, Bits)->Apply(bucket_numbers)->Name("classify/bits");
BENCHMARK_TEMPLATE(classify, Table<12, true>)
    ->Apply(bucket_numbers)
    ->Name("classify/table_while_2^12");
BENCHMARK_TEMPLATE(classify, Table<16, true>)
    ->Apply(bucket_numbers)
    ->Name("classify/table_while_2^16");
BENCHMARK_TEMPLATE(classify, Table<13, false>)->Apply(bucket_numbers)->Name("classify/table_2^13");
BENCHMARK_TEMPLATE(classify, Eytzinger)->Apply(bucket_numbers)->Name("classify/eytzinger");
BENCHMARK_TEMPLATE(classify, LibraryClassifier)->Apply(bucket_numbers)->Name("classify/classifier");
BENCHMARK_TEMPLATE(scatter, Direct)->Apply(bucket_numbers)->Name("scatter/direct");
BENCHMARK_TEMPLATE(scatter, InBlock)->Apply(bucket_numbers)->Name("scatter/in_block");
BENCHMARK_TEMPLATE(scatter, Streamed)->Apply(bucket_numbers)->Name("scatter/streamed");

}  // namespace

BENCHMARK_MAIN();
