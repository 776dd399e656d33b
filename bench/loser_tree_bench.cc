// How fast one core merges u64 keys: the loser tree for various numbers of runs, with the input in
// cache and in memory, beside a plain two-way merge.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "bench/loser_tree.h"

namespace {

using Key = std::uint64_t;

constexpr std::size_t kCacheBytes = std::size_t{512} << 10;
constexpr std::size_t kMemoryBytes = std::size_t{256} << 20;

// About `bytes` of random keys as `runs` sorted runs of one length, one behind the other. The
// length is not a power of two, or the heads of all runs would compete for one set of the cache.
struct SortedRuns {
  SortedRuns(std::size_t runs, std::size_t bytes) {
    const std::size_t length = bytes / sizeof(Key) / runs - 9;
    keys.resize(runs * length);
    xxl::Random random(1);
    std::ranges::generate(keys, random);
    for (std::size_t begin = 0; begin < keys.size(); begin += length) {
      const Key* first = keys.data() + begin;
      std::sort(keys.begin() + static_cast<std::ptrdiff_t>(begin),
                keys.begin() + static_cast<std::ptrdiff_t>(begin + length));
      cursors.push_back({first, first + length});
    }
  }

  std::vector<Key> keys;
  std::vector<xxl::RunCursor<const Key*>> cursors;
};

void set_bytes(benchmark::State& state, const SortedRuns& runs) {
  state.SetBytesProcessed(
      static_cast<std::int64_t>(state.iterations() * runs.keys.size() * sizeof(Key)));
}

void loser_tree(benchmark::State& state) {
  const SortedRuns runs(static_cast<std::size_t>(state.range(0)),
                        static_cast<std::size_t>(state.range(1)));
  std::vector<Key> out(runs.keys.size());
  for (auto _ : state) {
    xxl::LoserTree<const Key*, xxl::WordOrder<Key>> tree(runs.cursors);
    benchmark::DoNotOptimize(tree.merge(out.data(), out.size()));
  }
  set_bytes(state, runs);
}
BENCHMARK(loser_tree)
    ->ArgNames({"runs", "bytes"})
    ->ArgsProduct({{2, 4, 8, 32, 128, 340}, {kCacheBytes, kMemoryBytes}});

// Half of every run in each of two trees, as multisequence selection would cut random keys.
void loser_trees_side_by_side(benchmark::State& state) {
  using Tree = xxl::LoserTree<const Key*, xxl::WordOrder<Key>>;
  const SortedRuns runs(static_cast<std::size_t>(state.range(0)),
                        static_cast<std::size_t>(state.range(1)));
  std::vector<Tree::Cursor> low = runs.cursors;
  std::vector<Tree::Cursor> high = runs.cursors;
  std::size_t low_keys = 0;
  for (std::size_t i = 0; i < low.size(); ++i) {
    const Key* middle = std::lower_bound(low[i].position, low[i].end, Key{1} << 63);
    low[i].end = high[i].position = middle;
    low_keys += static_cast<std::size_t>(middle - low[i].position);
  }
  std::vector<Key> out(runs.keys.size());
  for (auto _ : state) {
    Tree a(low);
    Tree b(high);
    benchmark::DoNotOptimize(Tree::merge_side_by_side(
        a, out.data(), low_keys, b, out.data() + low_keys, out.size() - low_keys));
  }
  set_bytes(state, runs);
}
BENCHMARK(loser_trees_side_by_side)
    ->ArgNames({"runs", "bytes"})
    ->ArgsProduct({{2, 4, 8, 32, 128, 340}, {kCacheBytes, kMemoryBytes}});

void loser_tree_comparator(benchmark::State& state) {
  const SortedRuns runs(static_cast<std::size_t>(state.range(0)),
                        static_cast<std::size_t>(state.range(1)));
  std::vector<Key> out(runs.keys.size());
  const xxl::ComparatorOrder order{std::less<Key>()};
  for (auto _ : state) {
    xxl::LoserTree<const Key*, std::remove_const_t<decltype(order)>> tree(runs.cursors, order);
    benchmark::DoNotOptimize(tree.merge(out.data(), out.size()));
  }
  set_bytes(state, runs);
}
BENCHMARK(loser_tree_comparator)
    ->ArgNames({"runs", "bytes"})
    ->ArgsProduct({{2, 8, 128}, {kCacheBytes, kMemoryBytes}});

// No branch on the keys: which run is taken is added to its position.
void two_way_merge(benchmark::State& state) {
  const SortedRuns runs(2, static_cast<std::size_t>(state.range(0)));
  std::vector<Key> out(runs.keys.size());
  for (auto _ : state) {
    auto [a, a_end] = runs.cursors[0];
    auto [b, b_end] = runs.cursors[1];
    Key* to = out.data();
    while (a != a_end && b != b_end) {
      const Key x = *a;
      const Key y = *b;
      const bool take_b = y < x;
      *to++ = take_b ? y : x;
      b += take_b;
      a += !take_b;
    }
    to = std::copy(a, a_end, to);
    std::copy(b, b_end, to);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  set_bytes(state, runs);
}
BENCHMARK(two_way_merge)->ArgName("bytes")->Arg(kCacheBytes)->Arg(kMemoryBytes);

}  // namespace

BENCHMARK_MAIN();
