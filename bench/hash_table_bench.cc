// How fast one core builds the table of a hash join, and looks up in it: keys that occur and keys
// that do not, in tables from the size of a cache to far beyond, beside std::unordered_multimap.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/memory_region.h"
#include "base/random.h"
#include "join/hash_table.h"
#include "join/output_layout.h"

namespace {

// Records that probe at once, as in a join.
constexpr std::size_t kMorsel = 8192;
constexpr std::size_t kProbes = std::size_t{1} << 22;
constexpr unsigned kSlabRecords = 1024;

// Record `i` of the table has key mix(i): unique, in random order.
std::uint64_t key_of(std::uint64_t i) {
  return xxl::Random(i)();
}

struct Data {
  Data(const char* record, std::size_t record_count, unsigned percent_found)
      : format(xxl::parse_record_format(record)),
        layout(format),
        count(record_count),
        records(count * format.record_bytes),
        probes(kProbes * format.record_bytes),
        memory(xxl::HashTable::memory_bytes(size())) {
    for (std::size_t i = 0; i < count; i += kSlabRecords) {
      slabs.push_back(records.data() + i * format.record_bytes);
    }
    for (std::size_t i = 0; i < count; ++i) set(records, i, i);
    xxl::Random random(1);
    for (std::size_t i = 0; i < kProbes; ++i) {
      const bool found = random.below(100) < percent_found;
      set(probes, i, random.below(count) + (found ? 0 : count));
    }
  }
  void set(xxl::MemoryRegion& to, std::size_t index, std::uint64_t number) const {
    const std::uint64_t key = key_of(number);
    std::memcpy(to.data() + index * format.record_bytes, &key,
                std::min<std::size_t>(8, format.key.front().length));
  }
  // A table of one partition.
  xxl::HashTable::Size size() const { return {count, count, 1}; }
  xxl::HashTable build() {
    xxl::HashTable table(layout, layout, {slabs.data(), std::countr_zero(kSlabRecords)}, size(),
                         memory.span());
    table.build(0, {0, count});
    return table;
  }

  xxl::RecordFormat format;
  xxl::KeyLayout layout;
  std::size_t count;
  xxl::MemoryRegion records, probes, memory;
  std::vector<std::byte*> slabs;
};

void build(benchmark::State& state, const char* record) {
  const auto count = static_cast<std::size_t>(state.range(0));
  Data data(record, count, 100);
  for (auto _ : state) {
    const xxl::HashTable table = data.build();
    benchmark::DoNotOptimize(table.record(0));
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * count));
}

void probe(benchmark::State& state, const char* record, bool write_rows) {
  Data data(record, static_cast<std::size_t>(state.range(0)),
            static_cast<unsigned>(state.range(1)));
  xxl::HashTable table = data.build();
  const std::size_t record_bytes = data.format.record_bytes;
  const xxl::RowLayout rows({data.format, data.format}, xxl::JoinKind::inner, "");
  std::vector<xxl::HashMatch> out(kMorsel);
  std::vector<std::byte> row_memory(kMorsel * rows.row_bytes());
  for (auto _ : state) {
    for (std::size_t first = 0; first < kProbes; first += kMorsel) {
      const std::byte* morsel = data.probes.data() + first * record_bytes;
      xxl::ProbeProgress progress;
      while (progress.records < kMorsel) {
        const std::size_t listed = table.probe(morsel, kMorsel, {.pairs = true}, progress, out);
        if (!write_rows) continue;
        rows.write_each(
            listed,
            [&](std::size_t i) {
              return xxl::RowRecords{table.record(out[i].build),
                                     morsel + out[i].probe * record_bytes};
            },
            row_memory.data());
      }
      benchmark::DoNotOptimize(row_memory.data());
    }
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kProbes));
}

void probe_multimap(benchmark::State& state) {
  const Data data("kv64", static_cast<std::size_t>(state.range(0)),
                  static_cast<unsigned>(state.range(1)));
  std::unordered_multimap<std::uint64_t, std::uint64_t> map;
  const auto* records = reinterpret_cast<const std::uint64_t*>(data.records.data());
  for (std::size_t i = 0; i < data.count; ++i) {
    map.emplace(records[2 * i], records[2 * i + 1]);
  }
  const auto* probes = reinterpret_cast<const std::uint64_t*>(data.probes.data());
  for (auto _ : state) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kProbes; ++i) {
      const auto [begin, end] = map.equal_range(probes[2 * i]);
      for (auto at = begin; at != end; ++at) sum += at->second;
    }
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kProbes));
}

const std::vector<std::int64_t> kCounts{1 << 14, 1 << 20, 1 << 24};
const std::vector<std::int64_t> kFound{100, 0};

BENCHMARK_CAPTURE(build, kv32, "kv32")->ArgName("records")->ArgsProduct({kCounts});
BENCHMARK_CAPTURE(build, kv64, "kv64")->ArgName("records")->ArgsProduct({kCounts});
BENCHMARK_CAPTURE(build, gensort, "gensort")->ArgName("records")->Arg(1 << 20);
BENCHMARK_CAPTURE(probe, kv32, "kv32", false)
    ->ArgNames({"records", "found"})
    ->ArgsProduct({kCounts, kFound});
BENCHMARK_CAPTURE(probe, kv64, "kv64", false)
    ->ArgNames({"records", "found"})
    ->ArgsProduct({kCounts, kFound});
BENCHMARK_CAPTURE(probe, kv64_rows, "kv64", true)
    ->ArgNames({"records", "found"})
    ->ArgsProduct({kCounts, {100}});
BENCHMARK_CAPTURE(probe, gensort, "gensort", false)
    ->ArgNames({"records", "found"})
    ->ArgsProduct({{1 << 20}, kFound});
BENCHMARK(probe_multimap)->ArgNames({"records", "found"})->ArgsProduct({{1 << 20, 1 << 24}, {100}});

}  // namespace

BENCHMARK_MAIN();
