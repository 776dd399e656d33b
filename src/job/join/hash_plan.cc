#include "job/join/hash_plan.h"

#include <algorithm>
#include <bit>

#include "base/memory_plan.h"
#include "base/units.h"
#include "io/sequential_reader.h"
#include "join/slab_chains.h"

namespace xxl {
namespace {

constexpr std::size_t kMinMemory = 256 * kKiB;
// As for sorting: blocks of this size reach the full speed of disks.
constexpr MemorySlot kHashReadBlock{.share = 128, .least = 16 * kKiB, .wanted = kMiB};
constexpr MemorySlot kHashOutputBlock{.share = 64, .least = 4 * kKiB, .wanted = kMiB};
constexpr std::size_t kHashWriteBehindBytes = 16 * kMiB;
// The rows of one list, with the records they are made from, should stay in the cache of a core.
constexpr std::size_t kMaxListMatches = 8192;
constexpr MemorySlot kListRows{.share = 64, .least = 16 * kKiB, .wanted = 256 * kKiB};
// Morsels under way for each thread: being matched, waiting for their turn, being written.
constexpr std::size_t kListsPerThread = 4;

// Records and directory of a partition should stay in the cache of a core.
constexpr std::uint64_t kPartitionBytes = 256 * kKiB;
constexpr std::uint64_t kMaxPartitions = 4096;
// Of a slab; and slabs of a partition, at least: the last one is partly filled.
constexpr std::size_t kBuildSlabBytes = 4 * kKiB;
constexpr std::uint64_t kSlabsPerPartition = 32;
// A table of less is in a cache whatever is looked up.
constexpr std::uint64_t kCachedBytes = 4 * kMiB;
// Batches take the memory that is left, at most so many times that of the records and their table.
constexpr std::uint64_t kBatchFactor = 2;
constexpr std::size_t kMinBatchSlabBytes = 4 * kKiB;
constexpr std::size_t kMaxBatchSlabBytes = 64 * kKiB;

// What the build side takes.
void set_table(const HashPlanInput& input, HashGeometry& geometry) {
  const std::size_t record = input.build_record_bytes;
  const std::size_t in_slab = std::bit_floor(std::max<std::size_t>(kBuildSlabBytes / record, 1));
  geometry.slab_shift = static_cast<unsigned>(std::countr_zero(in_slab));
  const std::uint64_t bytes = input.build_records * record +
                              HashTable::memory_bytes({input.build_records, input.build_records});
  const std::uint64_t partitions = std::clamp<std::uint64_t>(
      std::min(bytes / kPartitionBytes, input.build_records / in_slab / kSlabsPerPartition), 1,
      kMaxPartitions);
  geometry.table.records = input.build_records;
  geometry.table.partitions = static_cast<std::size_t>(partitions);
  const std::uint64_t slabs = ceil_div<std::uint64_t>(input.build_records, in_slab) + partitions;
  geometry.table.numbers = slabs * in_slab;
  geometry.slabs = static_cast<std::size_t>(slabs);
  geometry.records_bytes = SlabPool::memory_bytes(geometry.slabs, in_slab * record);
  geometry.table_bytes = HashTable::memory_bytes(geometry.table);
}

// Batches of the probe side, of what is left of the memory.
void set_batches(const HashPlanInput& input, std::uint64_t left, HashGeometry& geometry) {
  const std::size_t record = input.probe_record_bytes;
  const std::uint64_t in_memory = geometry.records_bytes + geometry.table_bytes;
  const std::size_t partitions = geometry.table.partitions;
  if (in_memory < kCachedBytes || partitions == 1) return;
  const std::uint64_t bytes = std::min({left, kBatchFactor * in_memory, input.probe_bytes});
  const std::uint64_t of_partition = bytes / 2 / partitions;
  const std::size_t slab = std::clamp<std::size_t>(std::bit_floor(of_partition / 4),
                                                   kMinBatchSlabBytes, kMaxBatchSlabBytes) /
                           record * record;
  if (slab == 0 || of_partition < 4 * slab) return;
  const std::uint64_t slabs = (bytes - 64) / (slab + sizeof(SlabId)) / 2;
  // One slab of each partition is partly filled.
  const std::uint64_t records = (slabs - partitions) * (slab / record);
  if (records < geometry.scatter_records) return;
  geometry.batch_slab_bytes = slab;
  geometry.batch_records = static_cast<std::size_t>(records);
  geometry.batch_bytes = SlabPool::memory_bytes(2 * static_cast<std::size_t>(slabs), slab);
}

std::optional<HashGeometry> try_plan(const HashPlanInput& input, unsigned threads) {
  if (input.memory_bytes < kMinMemory || input.build_records > HashTable::kMaxNumbers) {
    return std::nullopt;
  }
  const std::size_t memory = input.memory_bytes;
  HashGeometry geometry;
  geometry.threads = threads;

  const std::size_t largest_record = std::max(input.build_record_bytes, input.probe_record_bytes);
  geometry.read_block_bytes =
      round_up(std::max(kHashReadBlock.power_of_two(memory), largest_record), kSectorBytes);
  const std::size_t buffer =
      io::SequentialReader::buffer_bytes(geometry.read_block_bytes, largest_record);
  geometry.read_bytes = std::clamp<std::size_t>(memory / 32 / buffer, 4, 16) * buffer;

  geometry.output_block_bytes = kHashOutputBlock.power_of_two(memory);
  geometry.lists = kListsPerThread * threads + 2;
  geometry.list_matches =
      std::clamp<std::size_t>(kListRows.of(memory / threads) / input.row_bytes, 1, kMaxListMatches);
  const std::size_t behind = std::clamp(memory / 16, 4 * geometry.output_block_bytes,
                                        kHashWriteBehindBytes + 4 * geometry.output_block_bytes);
  geometry.output_bytes = round_up((threads + 1) * geometry.list_matches * input.row_bytes + behind,
                                   geometry.output_block_bytes) +
                          geometry.output_block_bytes;

  set_table(input, geometry);
  if (geometry.table.numbers > HashTable::kMaxNumbers) return std::nullopt;
  geometry.scatter_records = (geometry.read_block_bytes + largest_record) /
                                 std::min(input.build_record_bytes, input.probe_record_bytes) +
                             1;
  geometry.scatter_bytes = round_up(
      ScatterScratch::bytes(geometry.scatter_records, geometry.table.partitions), kSectorBytes);
  const std::uint64_t needed =
      geometry.read_bytes + geometry.output_bytes +
      round_up(geometry.lists * geometry.list_matches * sizeof(HashMatch), kSectorBytes) +
      threads * geometry.scatter_bytes + round_up(geometry.records_bytes, kSectorBytes) +
      round_up(geometry.slabs * sizeof(std::byte*), kSectorBytes) +
      round_up(geometry.table_bytes, kSectorBytes) + kSectorBytes;
  if (needed > input.memory_bytes) return std::nullopt;
  set_batches(input, round_down<std::uint64_t>(memory - needed, kSectorBytes), geometry);
  geometry.region_bytes =
      static_cast<std::size_t>(needed) + round_up(geometry.batch_bytes, kSectorBytes);
  XXL_CHECK(geometry.region_bytes <= memory);
  return geometry;
}

}  // namespace

std::optional<HashGeometry> plan_hash_geometry(const HashPlanInput& input) {
  return with_most_threads(input.threads,
                           [&](unsigned threads) { return try_plan(input, threads); });
}

std::optional<std::uint64_t> least_hash_memory(HashPlanInput input) {
  HashGeometry geometry;
  if (input.build_records <= HashTable::kMaxNumbers) set_table(input, geometry);
  if (std::max(input.build_records, geometry.table.numbers) > HashTable::kMaxNumbers) {
    return std::nullopt;
  }
  return least_memory(geometry.records_bytes + geometry.table_bytes, [&](std::uint64_t memory) {
    input.memory_bytes = memory;
    return plan_hash_geometry(input).has_value();
  });
}

}  // namespace xxl
