#include "engine/join/hash_plan.h"

#include <algorithm>
#include <bit>

#include "base/units.h"
#include "io/sequential_reader.h"
#include "join/hash_table.h"

namespace xxl {
namespace {

constexpr std::size_t kMinMemory = 256 * kKiB;
// As for sorting: blocks of this size reach the full speed of disks.
constexpr std::size_t kMaxBlockBytes = kMiB;
constexpr std::size_t kWriteBehindBytes = 16 * kMiB;
// The rows of one list, with the records they are made from, should stay in the cache of a core.
constexpr std::size_t kMaxListMatches = 8192;
constexpr std::size_t kMaxPartBytes = 256 * kKiB;
// Morsels under way for each thread: being matched, waiting for their turn, being written.
constexpr std::size_t kListsPerThread = 4;

std::optional<HashGeometry> try_plan(const HashPlanInput& input, unsigned threads) {
  if (input.memory_bytes < kMinMemory || input.build_records > HashTable::kMaxRecords) {
    return std::nullopt;
  }
  const std::size_t memory = input.memory_bytes;
  HashGeometry geometry;
  geometry.threads = threads;

  const std::size_t largest_record = std::max(input.build_record_bytes, input.probe_record_bytes);
  geometry.read_block_bytes = round_up(
      std::max(std::clamp(std::bit_floor(memory / 128), 16 * kKiB, kMaxBlockBytes), largest_record),
      kSectorBytes);
  const std::size_t buffer =
      io::SequentialReader::buffer_bytes(geometry.read_block_bytes, largest_record);
  geometry.read_bytes = std::clamp<std::size_t>(memory / 32 / buffer, 4, 16) * buffer;

  geometry.output_block_bytes = std::clamp(std::bit_floor(memory / 64), 4 * kKiB, kMaxBlockBytes);
  geometry.lists = kListsPerThread * threads + 2;
  const std::size_t part =
      std::clamp(memory / (64 * std::size_t{threads}), 16 * kKiB, kMaxPartBytes);
  geometry.list_matches = std::clamp<std::size_t>(part / input.row_bytes, 1, kMaxListMatches);
  const std::size_t behind = std::clamp(memory / 16, 4 * geometry.output_block_bytes,
                                        kWriteBehindBytes + 4 * geometry.output_block_bytes);
  geometry.output_bytes = round_up((threads + 1) * geometry.list_matches * input.row_bytes + behind,
                                   geometry.output_block_bytes) +
                          geometry.output_block_bytes;

  // Numbers in 64 bits: a build side that is far too large must not wrap around.
  const std::uint64_t records_bytes =
      round_up<std::uint64_t>(input.build_records * input.build_record_bytes, kSectorBytes);
  const std::uint64_t table_bytes =
      round_up<std::uint64_t>(HashTable::memory_bytes(input.build_records), kSectorBytes);
  const std::uint64_t all =
      geometry.read_bytes + geometry.output_bytes + records_bytes + table_bytes +
      round_up(geometry.lists * geometry.list_matches * sizeof(HashMatch), kSectorBytes);
  if (all > input.memory_bytes) return std::nullopt;
  geometry.records_bytes = static_cast<std::size_t>(records_bytes);
  geometry.table_bytes = static_cast<std::size_t>(table_bytes);
  geometry.region_bytes = static_cast<std::size_t>(all);
  return geometry;
}

}  // namespace

std::optional<HashGeometry> plan_hash_geometry(const HashPlanInput& input) {
  // With little memory, fewer threads leave more for the table.
  for (unsigned threads = input.threads; threads >= 1; threads /= 2) {
    if (auto geometry = try_plan(input, threads)) return geometry;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> least_hash_memory(HashPlanInput input) {
  if (input.build_records > HashTable::kMaxRecords) return std::nullopt;
  const auto fits = [&](std::uint64_t mebibytes) {
    input.memory_bytes = mebibytes * kMiB;
    return plan_hash_geometry(input).has_value();
  };
  const std::uint64_t table_bytes =
      input.build_records * input.build_record_bytes + HashTable::memory_bytes(input.build_records);
  std::uint64_t low = 0;  // does not fit
  std::uint64_t high = table_bytes / kMiB + 1;
  while (!fits(high)) {
    low = high;
    high += high / 8 + 1;
  }
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (fits(middle) ? high : low) = middle;
  }
  return high * kMiB;
}

}  // namespace xxl
