// Which in-memory sort for cache-sized pieces? Candidates on one core, by item, size and keys.
//
// Pieces that come out of a distribution share their leading bits: "narrow" is uniform keys with
// the top 10 bits fixed; "runs8" is the same as 8 sorted sequences, as a merge finds it. Every
// iteration sorts a fresh piece out of many, so that branch predictors learn nothing; the time of
// copying it in is measured by itself ("copy") and is part of each figure.
#include <benchmark/benchmark.h>
#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <boost/sort/pdqsort/pdqsort.hpp>
#include <boost/sort/spinsort/spinsort.hpp>
#include <boost/sort/spreadsort/spreadsort.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/memory_region.h"
#include "base/random.h"
#include "sort/radix_sort.h"
#include "xxl/comparator.h"

namespace {

using xxl::Random;

enum class Keys { narrow, uniform, few_distinct, zipf, constant, sorted, runs };
constexpr const char* kKeysNames[] = {"narrow",   "uniform", "few16", "zipf",
                                      "constant", "sorted",  "runs8"};

struct Pair64 {
  std::uint64_t key, value;
};
struct Pair32 {
  std::uint32_t key, value;
};

// Keys for pieces of `n`, `pieces` of them.
std::vector<std::uint64_t> make_keys(Keys kind, std::size_t n, std::size_t pieces) {
  Random random(42);
  std::vector<std::uint64_t> keys(n * pieces);
  for (auto& k : keys) {
    const std::uint64_t r = random();
    switch (kind) {
      case Keys::narrow:
      case Keys::runs:
        k = (r >> 10) | (std::uint64_t{0x155} << 54);
        break;
      case Keys::few_distinct:
        k = (r & 15) * 0x0123456789abcdefu;
        break;
      // Ranks of Zipf's law with theta 1 over 2^20 values, hashed so that they spread.
      case Keys::zipf: {
        const double u = static_cast<double>(r >> 11) * 0x1p-53;
        k = static_cast<std::uint64_t>(std::exp2(20.0 * u)) * 0x9e3779b97f4a7c15u;
        break;
      }
      case Keys::constant:
        k = 0x0123456789abcdefu;
        break;
      case Keys::uniform:
      case Keys::sorted:
        k = r;
    }
  }
  const std::size_t length = kind == Keys::sorted ? keys.size() : n / 8;
  if (kind == Keys::sorted || kind == Keys::runs) {
    for (auto run = keys.begin(); run != keys.end(); run += length) std::sort(run, run + length);
  }
  return keys;
}

template <class Item>
Item make_item(std::uint64_t key, std::size_t index) {
  if constexpr (std::is_same_v<Item, std::uint64_t>) return key;
  if constexpr (std::is_same_v<Item, std::uint32_t>) return static_cast<std::uint32_t>(key >> 32);
  if constexpr (std::is_same_v<Item, Pair64>) return {key, index};
  if constexpr (std::is_same_v<Item, Pair32>)
    return {static_cast<std::uint32_t>(key >> 32), static_cast<std::uint32_t>(index)};
  if constexpr (std::is_same_v<Item, hwy::uint128_t>) return {index, key};
}

constexpr auto kKeyOf = [](const auto& item) {
  if constexpr (requires { item.key; })
    return item.key;
  else
    return item;
};
constexpr auto kLess = [](const auto& a, const auto& b) { return kKeyOf(a) < kKeyOf(b); };

struct Copy {
  template <class Item>
  void operator()(std::span<Item>, std::span<Item>) const {}
};
struct Radix {
  template <class Item>
  void operator()(std::span<Item> items, std::span<Item> scratch) const {
    xxl::radix_sort(items, scratch, kKeyOf);
  }
};
struct Vq {
  template <class Item>
  void operator()(std::span<Item> items, std::span<Item>) const {
    static const hwy::Sorter sorter;
    sorter(items.data(), items.size(), hwy::SortAscending());
  }
};
// What sorters by comparators use.
struct Merge {
  template <class Item>
  void operator()(std::span<Item> items, std::span<Item> scratch) const {
    xxl::detail::merge_sort(items.data(), items.size(), scratch.data(), false, kLess);
  }
};
struct Std {
  template <class Item>
  void operator()(std::span<Item> items, std::span<Item>) const {
    std::sort(items.begin(), items.end(), kLess);
  }
};
struct StdStable {
  template <class Item>
  void operator()(std::span<Item> items, std::span<Item>) const {
    std::stable_sort(items.begin(), items.end(), kLess);
  }
};
struct Pdq {
  template <class Item>
  void operator()(std::span<Item> items, std::span<Item>) const {
    boost::sort::pdqsort_branchless(items.begin(), items.end(), kLess);
  }
};
struct Spread {
  template <class Item>
  void operator()(std::span<Item> items, std::span<Item>) const {
    boost::sort::spreadsort::integer_sort(items.begin(), items.end());
  }
};
struct Spin {
  template <class Item>
  void operator()(std::span<Item> items, std::span<Item>) const {
    boost::sort::spinsort(items.begin(), items.end(), kLess);
  }
};

template <class Item, class Sort>
void sort_pieces(benchmark::State& state, Keys kind, Sort sort) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const std::size_t pieces = (std::size_t{1} << 20) / n;
  const std::vector<std::uint64_t> keys = make_keys(kind, n, pieces);
  xxl::MemoryRegion memory((pieces + 2) * n * sizeof(Item));
  Item* const all = reinterpret_cast<Item*>(memory.data());
  const std::span<Item> items(all, n), scratch(all + n, n), source(all + 2 * n, n * pieces);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = make_item<Item>(keys[i], i % n);
  std::size_t piece = 0;
  for (auto _ : state) {
    std::memcpy(items.data(), source.data() + piece * n, n * sizeof(Item));
    sort(items, scratch);
    benchmark::DoNotOptimize(items.data());
    benchmark::ClobberMemory();
    piece = (piece + 1) % pieces;
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * state.range(0) *
                          static_cast<std::int64_t>(sizeof(Item)));
}

template <class Item, class Sort>
void add(const std::string& item, const std::string& sort_name, Sort sort) {
  for (Keys kind : {Keys::narrow, Keys::uniform, Keys::few_distinct, Keys::zipf, Keys::constant,
                    Keys::sorted, Keys::runs}) {
    const std::string name = item + "/" + sort_name + "/" + kKeysNames[static_cast<int>(kind)];
    benchmark::RegisterBenchmark(
        name.c_str(),
        [kind, sort](benchmark::State& state) { sort_pieces<Item>(state, kind, sort); })
        ->RangeMultiplier(2)
        ->Range(8 << 10, 256 << 10);
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  add<std::uint64_t>("u64", "copy", Copy());
  add<std::uint64_t>("u64", "radix", Radix());
  add<std::uint64_t>("u64", "vqsort", Vq());
  add<std::uint64_t>("u64", "merge_sort", Merge());
  add<std::uint64_t>("u64", "std_sort", Std());
  add<std::uint64_t>("u64", "pdqsort", Pdq());
  add<std::uint64_t>("u64", "spreadsort", Spread());
  add<std::uint32_t>("u32", "copy", Copy());
  add<std::uint32_t>("u32", "radix", Radix());
  add<std::uint32_t>("u32", "vqsort", Vq());
  add<std::uint32_t>("u32", "std_sort", Std());
  add<std::uint32_t>("u32", "pdqsort", Pdq());
  add<std::uint32_t>("u32", "spreadsort", Spread());
  add<Pair64>("pair64", "copy", Copy());
  add<Pair64>("pair64", "radix", Radix());
  add<hwy::uint128_t>("pair64", "vqsort_u128", Vq());
  add<Pair64>("pair64", "merge_sort", Merge());
  add<Pair64>("pair64", "std_stable_sort", StdStable());
  add<Pair64>("pair64", "spinsort", Spin());
  add<Pair32>("pair32", "radix", Radix());
  add<Pair32>("pair32", "std_stable_sort", StdStable());
  benchmark::RunSpecifiedBenchmarks();
}
