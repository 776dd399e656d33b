#include "job/fixed_sort/plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/memory_plan.h"
#include "base/units.h"
#include "io/sequential_reader.h"
#include "run/block_packer.h"
#include "run/run.h"
#include "sort/make_piece_sorter.h"

namespace xxl {
namespace {

// A block of 1 MiB reaches the full speed of the disks measured (xxl probe); more only takes
// memory.
constexpr std::size_t kMaxBlockBytes = kMiB;
constexpr std::size_t kMinRunBlockBytes = 16 * kKiB;
constexpr std::size_t kLeastBlockBytes = 4 * kKiB;  // with little memory, or small files
// A piece and what it takes to sort it should stay in the caches of a core.
constexpr std::size_t kMaxPieceBytes = kMiB;
// Smaller pieces leave more of the shared cache to others. One thread cuts them for all, though,
// and many sorters must not wait for it.
constexpr std::size_t kMaxMergePieceBytes = 256 * kKiB;
constexpr unsigned kThreadsOfSmallPieces = 8;

std::size_t max_merge_piece_bytes(unsigned threads) {
  return std::min(kMaxPieceBytes, kMaxMergePieceBytes * ceil_div(threads, kThreadsOfSmallPieces));
}
constexpr std::size_t kMinPieceRecords = 16;
constexpr std::uint64_t kRecordsOfRunInPiece = 16;  // for each worker, where the memory allows
// Part of the memory that sorters of larger pieces may take.
constexpr std::size_t kSortersPart = 4;
// The average size of a cell, unless the memory does not allow for so many cells. Small inputs have
// smaller ones, as a merge must hold several of them beside what is kept in memory.
constexpr std::size_t kCellBytes = kMiB;
constexpr std::size_t kMemoryPerCell = 32 * kKiB;
constexpr std::size_t kMemoryPerSmallCell = 64 * kKiB;
constexpr std::size_t kMostSmallCells = 1024;
constexpr std::size_t kLeastCells = 192;
constexpr std::size_t kCellSlack = 2;            // how much larger than the average a cell may be
constexpr std::size_t kCellPrefetchBlocks = 32;  // beyond those that hold a cell
constexpr std::size_t kMinPieceBytes = 8 * kKiB;
constexpr std::size_t kWriteBehindBytes = 16 * kMiB;
constexpr std::size_t kWriteBehindPart = 8;  // of the memory of a phase
// In a merge beside kept records, whose memory is a small part, but at least kWriteBehindBytes.
constexpr std::size_t kWriteBehindPartBesideKept = 4;
constexpr std::size_t kMaxPinnedBytes = 256 * kMiB;
constexpr std::size_t kMaxTransferBytes = 4 * kMiB;
// Pieces of the merge on an accelerator, with all that a sorter takes: more of them sort at once
// where there is memory for more of this size.
constexpr std::size_t kLargePieceBytes = 4 * kMiB;
constexpr std::size_t kMaxLargePieceBytes = 16 * kMiB;
constexpr std::size_t kMinLargeSorters = 2;
constexpr std::size_t kMaxLargeSorters = 8;
constexpr std::size_t kReadBlocks = 32;
constexpr std::size_t kSlices = 16;
// If the size of the input is unknown, this many runs are allowed for.
constexpr std::uint64_t kUnknownRuns = 64;
constexpr std::uint64_t kLongRunInputs = 16;    // of an input so many times as large as the memory
constexpr std::uint64_t kMostRunsOfMemory = 5;  // of an input as large as the memory
// And cells are made for so many times the memory.
constexpr std::uint64_t kUnknownInputs = 16;
// With less memory, or more runs, all of the budget is used.
constexpr std::size_t kAmpleBytes = 128 * kMiB;
constexpr std::uint64_t kFewRuns = 16;
// What is in memory at the end of the input is kept if the input is at most this many times the
// memory. Merging then gets the smallest sufficient part of it.
constexpr std::uint64_t kKeepingInputs = 2;
constexpr std::uint64_t kLeastPartBesideKept = 16;
constexpr std::uint64_t kMostPartBesideKept = 4;
constexpr std::size_t kPrefetchBlocksBesideKept = 12;
constexpr std::size_t kRegionsBesideKept = 4;  // only as many leave as must

std::size_t largest_power_of_two(std::size_t value) {
  return std::bit_floor(value);
}

std::size_t block_for(std::size_t bytes, std::size_t record_bytes) {
  return round_up(std::max(bytes, record_bytes), kSectorBytes);
}

// Runs of all of the memory, during which nothing is read: to read while half of it leaves is worth
// less than half as many runs, if these are very many.
bool has_long_runs(const PlanInput& input) {
  return input.input_bytes / kLongRunInputs >= input.memory_bytes;
}

// `chunk_bytes`: of the memory that holds records while runs are formed, as far as it is known.
std::uint64_t expected_runs(const PlanInput& input, std::size_t chunk_bytes) {
  if (input.merge_only) return input.merge_inputs;
  if (!input.input_size_known) return kUnknownRuns;
  const std::uint64_t run_bytes =
      input.accelerated ? input.chunk_bytes : chunk_bytes / (has_long_runs(input) ? 1 : 2);
  return ceil_div<std::uint64_t>(input.input_bytes, run_bytes) + 1;
}

// Where the rest is kept: a region leaves whenever the last one begins to fill.
std::uint64_t runs_beside_kept(const PlanInput& input, const CpuChunkGeometry& chunk) {
  const std::uint64_t regions =
      ceil_div<std::uint64_t>(input.input_bytes, chunk.resident_bytes / chunk.regions);
  return regions - std::min<std::uint64_t>(regions, chunk.regions - 1);
}

// Cells that are wanted, of all of the input.
std::uint64_t wanted_cells(const PlanInput& input) {
  const std::uint64_t small =
      std::min<std::uint64_t>(input.memory_bytes / kMemoryPerSmallCell, kMostSmallCells);
  return std::clamp<std::uint64_t>(input.input_bytes / kCellBytes, kLeastCells + small,
                                   kLeastCells + input.memory_bytes / kMemoryPerCell);
}

void set_merge_pieces(Geometry& geometry, std::size_t records) {
  geometry.merge_piece_records = std::max(kMinPieceRecords, records);
  geometry.merge_piece_capacity = 2 * geometry.merge_piece_records + 1;
}

// The coordinator cuts a piece out of all runs while each worker sorts one: so pieces had better
// have some records of each run, the more workers there are.
void widen_merge_pieces(Geometry& geometry, std::uint64_t runs, std::size_t record_bytes) {
  const std::size_t most =
      std::min(kMaxPieceBytes, geometry.merge_region_bytes / (32 * geometry.threads));
  const std::uint64_t records =
      std::min<std::uint64_t>(kRecordsOfRunInPiece * geometry.threads * runs, most / record_bytes);
  if (records > geometry.merge_piece_records) set_merge_pieces(geometry, records);
}

void plan_pieces(Geometry& geometry, const PlanInput& input, const KeyLayout& layout) {
  const std::size_t record_bytes = layout.record_bytes();
  std::size_t bytes =
      std::clamp(geometry.region_bytes / (96 * geometry.threads), kMinPieceBytes, kMaxPieceBytes);
  // A piece has a record of each run.
  const std::size_t of_all_runs = std::min<std::uint64_t>(
      input.ranks * expected_runs(input, geometry.region_bytes) * record_bytes, kMaxPieceBytes);
  const std::size_t merge_bytes =
      std::clamp(geometry.merge_region_bytes / (96 * geometry.threads), kMinPieceBytes,
                 std::max(max_merge_piece_bytes(geometry.threads), of_all_runs));
  set_merge_pieces(geometry, merge_bytes / record_bytes);
  if (geometry.cells_unsorted) {
    const auto leaving = static_cast<std::size_t>(geometry.region_bytes / wanted_cells(input));
    bytes = std::clamp(leaving, kMinPieceBytes, bytes);
  }
  // There are only so many buckets. Those of a large memory are larger, and leave whole all the
  // same: to split them all would take longer.
  const std::size_t most = record_bytes * geometry.region_bytes / kSortersPart / geometry.threads /
                           piece_scratch_bytes(layout, 2);
  bytes = std::max(bytes, std::min(geometry.region_bytes / CpuChunkGeometry::kMostBuckets, most));
  geometry.piece_capacity = 2 * std::max(kMinPieceRecords, bytes / record_bytes);
}

// Enough output blocks for a piece of each of `sorters`, one more, and writes under way, which take
// `behind_bytes` or as many blocks as they need.
std::size_t output_bytes_for(std::size_t behind_bytes, unsigned sorters, std::size_t piece_records,
                             std::size_t record_bytes, std::size_t block_bytes) {
  const std::size_t pieces = (sorters + 1) * piece_records * record_bytes;
  const std::size_t behind =
      std::clamp(behind_bytes, 4 * block_bytes, kWriteBehindBytes + 4 * block_bytes);
  return round_up(pieces + behind, block_bytes) + block_bytes;
}

// Memory that transfers go through is pinned: expensive to allocate, and lost to other processes. A
// little of it keeps an accelerator busy.
std::size_t pinned_bytes(std::size_t region_bytes) {
  return std::min(region_bytes / 4, kMaxPinnedBytes);
}

void drop_large_pieces(Geometry& geometry) {
  geometry.large_sorters = 0;
  geometry.large_piece_records = geometry.large_piece_capacity = 0;
  geometry.large_staging_bytes = 0;
}

// Pieces that an accelerator may sort, for a few sorters that copy and sort at the same time. They
// take a quarter of what may be pinned, and as much again of the output: what is left should still
// do for all runs at once.
void plan_large_pieces(Geometry& geometry, std::size_t record_bytes) {
  const std::size_t bytes = pinned_bytes(geometry.merge_region_bytes) / 4;
  const auto sorters = static_cast<unsigned>(
      std::clamp<std::size_t>(bytes / kLargePieceBytes, kMinLargeSorters, kMaxLargeSorters));
  geometry.large_sorters = std::min(geometry.threads, sorters);
  geometry.large_staging_bytes =
      round_down(std::min(bytes / geometry.large_sorters, kMaxLargePieceBytes), kSectorBytes);
  geometry.large_piece_capacity = geometry.large_staging_bytes / record_bytes;
  geometry.large_piece_records = (std::max<std::size_t>(geometry.large_piece_capacity, 1) - 1) / 2;
  if (geometry.large_piece_records < 2 * geometry.merge_piece_records) {
    drop_large_pieces(geometry);
  }
}

// These say whether the memory is enough.

bool plan_merge(Geometry& geometry, const PlanInput& input, const KeyLayout& layout) {
  const std::size_t record_bytes = layout.record_bytes();
  geometry.final_block_bytes = std::max(
      geometry.block_bytes,
      std::clamp(largest_power_of_two(geometry.merge_region_bytes / 64), 4 * kKiB, kMaxBlockBytes));
  MemoryLeft left(geometry.merge_region_bytes);
  left.take(geometry.threads *
            round_up(piece_scratch_bytes(layout, geometry.merge_piece_capacity), kSectorBytes));
  const bool writes_more =
      geometry.chunk.keeps_rest && geometry.merge_region_bytes >= kWriteBehindBytes;
  const std::size_t behind =
      geometry.merge_region_bytes / (writes_more ? kWriteBehindPartBesideKept : kWriteBehindPart);
  geometry.merge_output_bytes =
      output_bytes_for(behind, geometry.threads, geometry.merge_piece_capacity, record_bytes,
                       geometry.final_block_bytes);
  if (geometry.large_sorters > 0) {
    geometry.merge_output_bytes =
        std::max(geometry.merge_output_bytes,
                 output_bytes_for(behind, geometry.large_sorters, geometry.large_piece_capacity,
                                  record_bytes, geometry.final_block_bytes));
    left.take(geometry.large_sorters * geometry.large_staging_bytes);
  }
  left.take(geometry.merge_output_bytes);
  if (geometry.cells_unsorted) {
    left.take(geometry.threads *
              round_up(geometry.merge_piece_capacity * record_bytes, kSectorBytes));
  }
  geometry.merge_blocks = left.bytes() / geometry.block_bytes;
  const std::size_t spare = std::max<std::size_t>(2, 2 * input.scratch_disks);
  if (!left.fits() || geometry.merge_blocks < 2 + spare) return false;
  geometry.merge_degree = std::min(geometry.merge_blocks - spare, geometry.merge_piece_records);
  geometry.merge_degree /= input.ranks;
  if (input.ranks > 1 && geometry.merge_degree < 2) return false;
  if (input.batch_size != 0) {
    geometry.merge_degree = std::min<std::size_t>(geometry.merge_degree, input.batch_size);
  }
  return true;
}

// `layout`: of the input; `run_record_bytes`: of what becomes of its records.
bool plan_formation(Geometry& geometry, const PlanInput& input, const KeyLayout& layout,
                    std::size_t run_record_bytes, bool keeps_rest) {
  const std::size_t record_bytes = layout.record_bytes();
  geometry.read_block_bytes = block_for(
      std::clamp(largest_power_of_two(geometry.region_bytes / 128), 16 * kKiB, kMaxBlockBytes),
      record_bytes);
  const std::size_t buffer =
      io::SequentialReader::buffer_bytes(geometry.read_block_bytes, record_bytes);
  geometry.read_blocks = std::clamp<std::size_t>(geometry.region_bytes / 16 / buffer, 4, 24);
  geometry.output_blocks =
      output_bytes_for(geometry.region_bytes / kWriteBehindPart, geometry.threads,
                       geometry.piece_capacity, run_record_bytes, geometry.block_bytes) /
      geometry.block_bytes;
  MemoryLeft left(geometry.region_bytes);
  left.take(geometry.read_blocks * buffer);
  left.take(geometry.output_blocks * geometry.block_bytes);
  left.take(geometry.threads *
            round_up(piece_scratch_bytes(layout, geometry.piece_capacity), kSectorBytes));
  const std::size_t push_records = geometry.read_block_bytes / record_bytes + 1;
  const auto chunk = CpuChunkGeometry::plan(round_down(left.bytes(), kSectorBytes), layout,
                                            geometry.threads, push_records, geometry.piece_capacity,
                                            keeps_rest ? kRegionsBesideKept : 2);
  if (!left.fits() || !chunk) return false;
  geometry.chunk = *chunk;
  geometry.chunk.leaves_early =
      input.input_size_known && !keeps_rest && input.input_bytes > chunk->resident_bytes;
  geometry.chunk.keeps_rest = keeps_rest;
  geometry.chunk.long_runs = has_long_runs(input);
  return true;
}

// With an accelerator: half of what is pinned is for blocks that are read, half for sorted slices.
bool plan_transfers(Geometry& geometry, const KeyLayout& layout) {
  const std::size_t record_bytes = layout.record_bytes();
  const std::size_t half = pinned_bytes(geometry.region_bytes) / 2;
  geometry.read_block_bytes =
      block_for(std::clamp(largest_power_of_two(half / kReadBlocks), 16 * kKiB, kMaxTransferBytes),
                record_bytes);
  const std::size_t buffer =
      io::SequentialReader::buffer_bytes(geometry.read_block_bytes, record_bytes);
  geometry.read_blocks = std::clamp<std::size_t>(half / buffer, 4, kReadBlocks);
  geometry.slice_bytes = block_for(
      std::clamp(largest_power_of_two(half / kSlices), 64 * kKiB, kMaxTransferBytes), record_bytes);
  geometry.slices = std::max<std::size_t>(half / geometry.slice_bytes, 2);
  geometry.piece_capacity = geometry.slice_bytes / record_bytes;
  geometry.output_blocks =
      ceil_div(geometry.slices * geometry.slice_bytes +
                   std::min(geometry.region_bytes / kWriteBehindPart, kWriteBehindBytes),
               geometry.block_bytes / record_bytes * record_bytes) +
      2;
  MemoryLeft left(geometry.region_bytes);
  left.take(geometry.read_blocks * buffer);
  left.take(geometry.output_blocks * geometry.block_bytes);
  left.take(geometry.slices * geometry.slice_bytes);
  return left.fits();
}

// As plan_merge(), with wide pieces and large ones, each only if they fit and add no pass.
bool plan_merge_of_runs(Geometry& geometry, const PlanInput& input, const KeyLayout& layout) {
  Geometry plain = geometry;
  drop_large_pieces(plain);
  if (!plan_merge(plain, input, layout)) return false;
  const std::uint64_t runs = expected_runs(input, geometry.region_bytes);
  const unsigned passes = merge_passes(runs, plain.merge_degree);
  const auto fits = [&](Geometry& larger) {
    return plan_merge(larger, input, layout) && merge_passes(runs, larger.merge_degree) == passes;
  };
  Geometry wide = plain;
  widen_merge_pieces(wide, std::min<std::uint64_t>(runs, plain.merge_degree),
                     layout.record_bytes());
  if (fits(wide)) plain = wide;
  if (2 * plain.merge_piece_records <= geometry.large_piece_records) {
    set_merge_pieces(geometry, plain.merge_piece_records);
  }
  if (geometry.large_sorters == 0 || !fits(geometry)) geometry = plain;
  return true;
}

// Runs left unsorted within cells. The merge must hold a cell of all its runs in memory, for as
// many runs as there may be.
bool plan_cells(Geometry& geometry, const PlanInput& input, const KeyLayout& layout) {
  const std::size_t record_bytes = layout.record_bytes();
  const std::uint64_t records = input.input_bytes / record_bytes;
  const auto cell_records = static_cast<std::size_t>(records / geometry.chunk.buckets + 1);
  geometry.merge_piece_capacity =
      std::max({geometry.merge_piece_capacity, geometry.piece_capacity, kCellSlack * cell_records});
  if (!plan_merge(geometry, input, layout)) return false;
  const std::size_t blocks_a_run =
      ceil_div(geometry.chunk.whole_capacity(), geometry.records_per_block) + 2;
  const std::size_t others =
      ceil_div(geometry.merge_piece_capacity, geometry.records_per_block) +
      (geometry.chunk.keeps_rest ? kPrefetchBlocksBesideKept : kCellPrefetchBlocks);
  if (geometry.merge_blocks < others) return false;
  geometry.merge_degree =
      std::min(geometry.merge_degree, (geometry.merge_blocks - others) / blocks_a_run);
  return geometry.merge_degree > (geometry.chunk.keeps_rest
                                      ? runs_beside_kept(input, geometry.chunk)
                                      : expected_runs(input, geometry.chunk.resident_bytes));
}

// Block size of the runs, for merges in `region_bytes`: the largest power of two with which the
// runs expected of random input take up no more than 5/8 of the memory when they are merged in one
// pass. (STXXL takes half of the largest that allows one pass; the blocks of many runs are small,
// and larger ones are worth more than longer queues.)
std::size_t plan_block(const PlanInput& input, std::size_t region_bytes, std::size_t record_bytes,
                       std::size_t chunk_bytes) {
  std::uint64_t runs = expected_runs(input, chunk_bytes);
  if (input.batch_size != 0) runs = std::min<std::uint64_t>(runs, input.batch_size);
  runs *= input.ranks;
  const std::size_t largest =
      region_bytes / 8 * 5 / static_cast<std::size_t>(std::max<std::uint64_t>(runs, 8));
  const std::size_t bytes = std::clamp(largest_power_of_two(std::max<std::size_t>(largest, 1)),
                                       kMinRunBlockBytes, kMaxBlockBytes);
  const std::size_t most = std::max(largest_power_of_two(region_bytes / 64), kLeastBlockBytes);
  // Blocks of small files are small.
  const std::uint64_t filled = input.largest_input == 0 ? kMaxBlockBytes : input.largest_input;
  return block_for(
      std::clamp<std::uint64_t>(std::bit_ceil(filled), kLeastBlockBytes, std::min(bytes, most)),
      record_bytes);
}

std::size_t worthwhile_bytes(const PlanInput& input, std::size_t available) {
  const bool may_fit = input.input_bytes < available;
  const bool all = input.uses_all_memory || input.accelerated || input.merge_only ||
                   !input.input_size_known || may_fit;
  return round_down<std::size_t>(all ? available : worthwhile_memory(available, input.input_bytes),
                                 kSectorBytes);
}

// Memory for compressing scratch blocks, beside what is divided.
std::uint64_t packing_bytes(const PlanInput& input, const Geometry& geometry) {
  const std::uint64_t bytes =
      geometry.threads *
      BlockPacker::memory_bytes(input.scratch_codec, input.scratch_level, geometry.block_bytes);
  return std::min(bytes, input.memory_bytes / kPackingPart);
}

// `kept_part`: what is in memory at the end of the input is kept there, and merging has that part
// of the memory; 0: nothing is kept. `chunk_bytes`: of the memory that holds records while runs are
// formed; 0: not known yet. Nothing if the memory is too small.
std::optional<Geometry> try_plan(const PlanInput& input, const KeyLayout& layout, unsigned threads,
                                 bool cells_unsorted, std::uint64_t kept_part,
                                 std::size_t chunk_bytes = 0) {
  Geometry geometry;
  geometry.cells_unsorted = cells_unsorted;
  geometry.threads = threads;
  const std::size_t record_bytes = layout.record_bytes();
  const KeyLayout& input_layout = input.input_layout != nullptr ? *input.input_layout : layout;
  if (input.memory_bytes < 256 * kKiB) return std::nullopt;
  std::uint64_t merge_bytes = input.merge_memory_bytes != 0
                                  ? std::min(input.merge_memory_bytes, input.memory_bytes)
                                  : input.memory_bytes;
  if (kept_part != 0) merge_bytes = input.memory_bytes / kept_part;
  geometry.block_bytes = plan_block(input, merge_bytes, record_bytes,
                                    chunk_bytes != 0 ? chunk_bytes : input.memory_bytes);
  if (input.merge_only) geometry.block_bytes += 2 * kSectorBytes;  // blocks in files are unaligned
  geometry.records_per_block = geometry.block_bytes / record_bytes;
  geometry.slot_bytes = input.scratch_codec == Codec::none
                            ? geometry.block_bytes
                            : BlockPacker::slot_bytes(geometry.block_bytes);
  const std::uint64_t blocks =
      input.input_bytes / input_layout.record_bytes() / geometry.records_per_block + 1;
  // Of several ranks, each has the table of its own runs, and that of its part of all of them.
  std::uint64_t table_bytes = (input.ranks > 1 ? 2 : 1) * blocks * sizeof(RunBlock);
  if (cells_unsorted) {
    const std::uint64_t runs = kMostRunsOfMemory * input.input_bytes / input.memory_bytes + 2;
    table_bytes += runs * RunCells::memory_bytes(wanted_cells(input));
  }
  table_bytes += packing_bytes(input, geometry) + threads * input.folding_bytes;
  if (table_bytes > input.memory_bytes / 2) return std::nullopt;
  geometry.table_bytes = table_bytes;
  geometry.region_bytes = worthwhile_bytes(input, input.memory_bytes - table_bytes);
  geometry.merge_region_bytes = geometry.region_bytes;
  if (kept_part != 0) {
    geometry.merge_region_bytes = round_down<std::size_t>(merge_bytes, kSectorBytes);
    geometry.region_bytes = round_down<std::size_t>(
        input.memory_bytes - table_bytes - geometry.merge_region_bytes, kSectorBytes);
  }
  if (input.merge_memory_bytes != 0) {
    geometry.merge_region_bytes = round_down<std::size_t>(
        std::min<std::uint64_t>(input.merge_memory_bytes, input.memory_bytes - table_bytes),
        kSectorBytes);
  }
  plan_pieces(geometry, input, layout);
  if (input.merge_accelerated && !cells_unsorted) plan_large_pieces(geometry, record_bytes);
  if (input.accelerated) {
    if (!plan_transfers(geometry, layout)) return std::nullopt;
  } else if (!input.merge_only) {
    if (!plan_formation(geometry, input, input_layout, record_bytes, kept_part != 0))
      return std::nullopt;
    const std::size_t left = geometry.chunk.resident_bytes;
    if (chunk_bytes == 0 &&
        plan_block(input, merge_bytes, record_bytes, left) < geometry.block_bytes) {
      return try_plan(input, layout, threads, cells_unsorted, kept_part, left);
    }
  }
  if (cells_unsorted) {
    if (!plan_cells(geometry, input, layout)) return std::nullopt;
  } else if (!plan_merge_of_runs(geometry, input, layout)) {
    return std::nullopt;
  }
  return geometry;
}

// True if runs could be left unsorted within cells, for input that does not fit in memory.
bool may_leave_cells_unsorted(const PlanInput& input, const KeyLayout& layout) {
  return !input.merge_only && !input.in_order && !input.limit && !input.accelerated &&
         triggers_tell_cells(layout) && input.input_bytes > input.memory_bytes / 2;
}

// True if keeping what is in memory at the end saves much writing and reading.
bool may_keep_rest(const PlanInput& input, const KeyLayout& layout) {
  return may_leave_cells_unsorted(input, layout) && input.merge_memory_bytes == 0 &&
         input.input_bytes / kKeepingInputs <= input.memory_bytes;
}

std::optional<Geometry> plan_or_nothing(const PlanInput& input, const KeyLayout& layout) {
  // Cells need a size. If the input is larger, the merge sorts their parts of each run by itself.
  PlanInput sized = input;
  if (!input.input_size_known) {
    sized.input_bytes = std::max(input.input_bytes, kUnknownInputs * input.memory_bytes);
  }
  // With little memory, fewer threads get more of it each.
  const auto best = with_most_threads(input.threads, [&](unsigned threads) {
    const auto plan = [&](bool cells_unsorted, std::uint64_t kept_part = 0) {
      return try_plan(cells_unsorted ? sized : input, layout, threads, cells_unsorted, kept_part);
    };
    std::optional<Geometry> sorted = plan(false);
    if (sorted && sized.input_bytes <= sorted->chunk.resident_bytes) return sorted;
    std::optional<Geometry> geometry;
    for (std::uint64_t part = kLeastPartBesideKept;
         !geometry && part >= kMostPartBesideKept && may_keep_rest(sized, layout); part /= 2) {
      geometry = plan(true, part);
    }
    if (!geometry && may_leave_cells_unsorted(sized, layout)) geometry = plan(true);
    return geometry ? geometry : sorted;
  });
  if (best) return best;
  if (input.uses_all_memory) return std::nullopt;
  PlanInput all = input;  // large records
  all.uses_all_memory = true;
  return plan_or_nothing(all, layout);
}

unsigned passes_of(const PlanInput& input, const Geometry& geometry) {
  if (!input.merge_only && input.input_bytes <= geometry.chunk.resident_bytes) return 1;
  return merge_passes(expected_runs(input, geometry.region_bytes), geometry.merge_degree);
}

}  // namespace

std::uint64_t worthwhile_memory(std::uint64_t memory_bytes, std::uint64_t input_bytes) {
  const bool ample = memory_bytes / 2 >= kAmpleBytes && input_bytes / memory_bytes <= kFewRuns;
  return ample ? memory_bytes / 2 : memory_bytes;
}

Geometry plan_geometry(const PlanInput& input, const KeyLayout& layout) {
  if (auto best = plan_or_nothing(input, layout)) {
    PlanInput fewer = input;
    fewer.threads = best->threads;
    while (!input.accelerated && fewer.threads / 2 >= kFewestThreads) {
      fewer.threads /= 2;
      const auto geometry = plan_or_nothing(fewer, layout);
      if (geometry && passes_of(input, *geometry) < passes_of(input, *best)) best = geometry;
    }
    return *best;
  }
  const auto accepts = [&](std::uint64_t memory) {
    PlanInput enough = input;
    enough.memory_bytes = memory - std::min(memory, input.beside_bytes);
    // Merges get the same part of it.
    const double part =
        static_cast<double>(input.merge_memory_bytes) / static_cast<double>(input.memory_bytes);
    enough.merge_memory_bytes =
        static_cast<std::uint64_t>(part * static_cast<double>(enough.memory_bytes));
    return plan_or_nothing(enough, layout).has_value();
  };
  const std::uint64_t given = input.memory_bytes + input.beside_bytes;
  refuse_memory(
      given,
      memory_given(given) + " is too small to sort " +
          (input.input_size_known ? format_bytes(input.input_bytes) + " of " : std::string()) +
          "records of " + format_count(layout.record_bytes(), "byte"),
      accepts);
}

unsigned merge_passes(std::uint64_t runs, std::size_t max_degree) {
  unsigned passes = 0;
  for (std::uint64_t left = runs; left > 1; left = ceil_div<std::uint64_t>(left, max_degree))
    ++passes;
  return passes;
}

std::size_t balanced_degree(std::uint64_t runs, unsigned passes, std::size_t max_degree) {
  if (passes <= 1) return std::max<std::size_t>(runs, 2);
  auto degree =
      static_cast<std::size_t>(std::ceil(std::pow(static_cast<double>(runs), 1.0 / passes) - 1e-9));
  degree = std::max<std::size_t>(degree, 2);
  while (degree < max_degree && merge_passes(runs, degree) > passes) ++degree;
  return std::min(degree, max_degree);
}

}  // namespace xxl
