#include "job/general_sort/general_plan.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "base/units.h"
#include "job/fixed_sort/plan.h"
#include "job/general_sort/general_reader.h"
#include "job/output.h"
#include "run/block_packer.h"
#include "run/run_tables.h"
#include "sort/string_sort.h"

namespace xxl {
namespace {

constexpr std::size_t kMinBlockBytes = 16 * kKiB;
constexpr std::size_t kMaxBlockBytes = kMiB;
// Tables of runs get the memory that they will need, at most this part of it; a small part if that
// is unknown.
constexpr std::uint64_t kTablePart = 4;
constexpr std::uint64_t kTablePartOfUnknown = 32;
constexpr std::size_t kBytesOfCellPerItem = 16;  // half of the items are used, records are short
// Blocks are smaller where the number of runs is unknown.
constexpr std::uint64_t kBlockPart = 256;
constexpr std::uint64_t kBlockPartOfUnknown = 1024;

// What a merge by one worker costs more than one by four or more, in halves of a pass.
constexpr unsigned kHalvesOfOneWorker = 5;

constexpr std::size_t kMaxOutputBlockBytes = kMiB;
// Workers write a run each, as fast as they copy, and then none for a while.
constexpr std::size_t kMaxWriteBytes = 48 * kMiB;
// Workers fill the output of a cell each, two where that is a stream. More would leave the caches.
constexpr std::size_t kMaxOutputBytes = 24 * kMiB;
constexpr std::size_t kMaxOutputBytesOfThread = 8 * kMiB;

// Input of less than this times the memory is kept in it as far as possible.
constexpr std::uint64_t kKeepingInputs = 3;
// There should be room for so many blocks of each run in a merge; for more it is not worth taking.
constexpr std::uint64_t kBlocksOfRun = 3;

// A chunk and its items should stay near the cache.
constexpr std::size_t kRegionBytes = 32 * kMiB;
constexpr std::size_t kMinRegionBytes = 160 * kKiB;
constexpr std::size_t kMaxRegionBytes = 2 * kGiB - kMiB;  // places of records have 31 bits each

// Bytes of a region for each item of a worker: records of this size or larger fill it.
constexpr std::size_t kRegionBytesPerItem = 32;
constexpr std::size_t kRegionBytesPerKeyedItem = 80;  // where keys are made, which also take room

std::size_t power_of_two(std::size_t bytes, std::size_t low, std::size_t high) {
  return std::clamp(std::bit_floor(std::max<std::size_t>(bytes, 1)), low, high);
}

std::size_t output_block_bytes(std::size_t memory, unsigned threads) {
  return power_of_two(memory / (16 * (threads + 2)), kMinBlockBytes, kMaxOutputBlockBytes);
}

// What compression takes beside the memory that is divided: compressors, and what is compressed but
// not written.
std::size_t packing_bytes(const GeneralPlanInput& input, std::size_t packed_block_bytes) {
  std::size_t bytes =
      BlockPacker::memory_bytes(input.scratch_codec, input.scratch_level, packed_block_bytes) *
      input.threads;
  // The output of a program for a block, once as it comes and once to be written.
  if (input.temp_program) bytes += input.threads * packed_block_bytes;
  bytes += Output::memory_bytes(
      input.output_codec,
      output_block_bytes(static_cast<std::size_t>(input.memory_bytes), input.threads),
      input.threads);
  return std::min(bytes, static_cast<std::size_t>(input.memory_bytes / kPackingPart));
}

// A merge of two long records has ordinary blocks, too.
constexpr std::size_t kBlocksBesideLong = 4;

std::size_t sectors(std::size_t bytes) {
  return round_up(bytes, kSectorBytes);
}

// Divides `memory` of a sort with T threads, from top to bottom:
//
//   what            number  bytes each
//   write buffers   1       memory / 16, at most 48 MiB or 8T MiB, but 2T + 4 output blocks
//   regions         rest    rest / (3T + 2), at most 32 MiB; or `region_bytes`, if not 0
//   items           2T      16 for every 32 bytes of a region (80, where keys are made)
//   made keys       T       48 for each item
//
// An output block is a power of two up to memory / 16 (T + 2), 16 KiB to 1 MiB. Of regions, workers
// need one each, and so does what is read and what is read ahead. For long records one must
// suffice, and items then take no more than a 16th. Nothing if there is not enough.
std::optional<GeneralGeometry> divide(const GeneralPlanInput& input, std::size_t memory,
                                      std::size_t region_bytes) {
  const std::size_t threads = input.threads;
  GeneralGeometry plan;
  plan.memory_bytes = memory;

  plan.output_block_bytes = output_block_bytes(memory, input.threads);
  const std::size_t least_write_bytes = (2 * threads + 4) * plan.output_block_bytes;
  const std::size_t most_output_bytes =
      std::max(kMaxOutputBytes, threads * kMaxOutputBytesOfThread);
  plan.write_bytes = std::max(least_write_bytes,
                              std::min(memory / 16, std::max(kMaxWriteBytes, most_output_bytes)));
  plan.output_bytes = std::max(least_write_bytes, std::min(plan.write_bytes, most_output_bytes));
  if (plan.write_bytes > memory) return std::nullopt;
  const std::size_t rest = memory - plan.write_bytes;

  const std::size_t usual_region = std::min(kRegionBytes, rest / (3 * threads + 2));
  plan.region_bytes = round_down(
      std::min(region_bytes != 0 ? region_bytes : usual_region, kMaxRegionBytes), kSectorBytes);
  if (plan.region_bytes < kMinRegionBytes) return std::nullopt;

  plan.item_capacity = std::min(plan.region_bytes, std::max(usual_region, kMinRegionBytes)) /
                       (input.keys_are_records ? kRegionBytesPerItem : kRegionBytesPerKeyedItem);
  const std::size_t item_bytes =
      2 * sizeof(StringItem) + (input.keys_are_records ? 0 : kKeyMemoryPerItem);
  const bool is_long = input.longest_record > 0;
  if (is_long && (threads + 2) * plan.region_bytes > rest) {
    plan.item_capacity = std::min(plan.item_capacity, rest / 16 / threads / item_bytes);
  }
  plan.key_bytes = input.keys_are_records ? 0 : sectors(plan.item_capacity * kKeyMemoryPerItem);
  const std::size_t sorting =
      threads * (2 * sectors(plan.item_capacity * sizeof(StringItem)) + plan.key_bytes);
  if (sorting > rest) return std::nullopt;
  plan.merge_bytes = round_down(rest - sorting, kSectorBytes);
  plan.regions = plan.merge_bytes / plan.region_bytes;
  if (plan.regions < (is_long ? 1 : 2)) return std::nullopt;
  return plan;
}

// How runs are formed and merged.
struct RunsPlan {
  std::size_t block_bytes = 0;
  std::uint64_t memory = 0;      // what is divided: without tables
  std::size_t region_bytes = 0;  // 0: the usual ones
  std::size_t table_bytes = 0;
  unsigned merge_cost = 0;  // as merge_cost()
};

// Whether what long records take beside each other has room in merges.
bool can_merge(const GeneralPlanInput& input, const GeneralGeometry& plan,
               std::size_t block_bytes) {
  return input.merged_bytes == 0 ||
         input.merged_bytes + kBlocksBesideLong * block_bytes <= plan.merge_bytes;
}

// Tables of `wanted` bytes, of which `input.spare_table_bytes` are not of the memory.
void set_tables_aside(const GeneralPlanInput& input, std::uint64_t wanted, RunsPlan& plan) {
  plan.memory -= std::min(plan.memory, wanted);
  plan.table_bytes = static_cast<std::size_t>(wanted) + input.spare_table_bytes;
}

// A region is left when four fifths of it are filled with records: the rest is for their items.
std::uint64_t run_bytes(std::uint64_t region_bytes) {
  return region_bytes / 5 * 4;
}

// Runs that can well be merged at once: cells need room for blocks, too.
std::uint64_t usual_degree(const GeneralGeometry& geometry, std::size_t block_bytes) {
  return std::max<std::uint64_t>(geometry.memory_bytes / 2 / (2 * block_bytes), 2);
}
// Runs that can be merged at once at all.
std::uint64_t most_degree(const GeneralGeometry& geometry) {
  return std::max<std::uint64_t>(
      geometry.regions * geometry.region_bytes / 8 * 7 / (2 * geometry.block_bytes), 2);
}

// Passes in which `runs` are merged, all workers together merging `degree` of them at a time.
unsigned passes_of(const GeneralPlanInput& input, std::uint64_t runs, std::uint64_t degree,
                   std::uint64_t tables, std::uint64_t table_bytes) {
  const std::uint64_t of_worker = std::max<std::uint64_t>(degree / input.threads, 2);
  unsigned passes = 1;
  for (; runs > degree; runs = ceil_div(runs, of_worker)) ++passes;
  // Runs are compacted before there are this many.
  return tables > table_bytes ? std::max(passes, 2U) : passes;
}

// Passes over the data that `runs` take, counted in halves. Where memory has no room for all
// tables, the last merge is not one by cells: one worker merges while the others wait.
unsigned merge_cost(const GeneralPlanInput& input, const GeneralGeometry& geometry,
                    const RunsPlan& plan, std::uint64_t runs) {
  const std::uint64_t tables = expected_table_bytes(input.input_bytes, runs, plan.block_bytes);
  const std::uint64_t blocks = input.input_bytes / plan.block_bytes + runs;
  const std::uint64_t cells = input.input_bytes / (geometry.item_capacity * kBytesOfCellPerItem);
  const unsigned passes =
      passes_of(input, runs, usual_degree(geometry, plan.block_bytes), tables, plan.table_bytes);
  const bool by_cells = passes == 1 ? tables + merge_table_bytes(blocks, cells) <= plan.table_bytes
                                    : 3 * tables <= plan.table_bytes;
  return 2 * passes + (by_cells ? 0 : input.threads < kFewestThreads ? 1 : kHalvesOfOneWorker);
}

// The largest blocks with the fewest passes. Regions larger than usual, as long as each thread has
// one, if that saves a pass. `usual`: how `memory` is divided without tables.
RunsPlan plan_runs(const GeneralPlanInput& input, const GeneralGeometry& usual,
                   std::size_t first_block_bytes, std::uint64_t memory) {
  RunsPlan best{first_block_bytes, memory, 0, 0, ~0U};
  set_tables_aside(input, input.memory_bytes / kTablePart, best);
  const std::uint64_t usual_runs = input.input_bytes / run_bytes(usual.region_bytes) + 1;
  const auto consider = [&](std::size_t block_bytes, bool larger_regions) {
    RunsPlan plan{block_bytes, memory};
    // Of what the runs themselves take, half of the spare part holds what it can.
    const std::uint64_t wanted =
        expected_table_bytes(input.input_bytes, usual_runs, block_bytes) -
        std::min<std::uint64_t>(usual_runs * kRunBytes, input.spare_table_bytes / 2);
    set_tables_aside(input, std::min(wanted, input.memory_bytes / kTablePart), plan);
    const auto geometry = divide(input, plan.memory, 0);
    if (!geometry) return;
    std::uint64_t region = geometry->region_bytes;
    if (larger_regions) {
      region = (input.input_bytes / (usual_degree(*geometry, block_bytes) - 1) / 4 + 1) * 5;
      const std::uint64_t largest =
          (geometry->memory_bytes - geometry->write_bytes) / (2 * input.threads + 3);
      if (region <= geometry->region_bytes || region > largest) return;
      plan.region_bytes = static_cast<std::size_t>(region);
    }
    const std::uint64_t runs = input.input_bytes / run_bytes(region) + 1;
    plan.merge_cost = merge_cost(input, *geometry, plan, runs);
    if (plan.merge_cost < best.merge_cost) best = plan;
  };
  const std::size_t last_block_bytes = input.block_bytes != 0 ? first_block_bytes : kMinBlockBytes;
  for (const bool larger_regions : {false, true}) {
    for (std::size_t bytes = first_block_bytes; bytes >= last_block_bytes; bytes /= 2) {
      consider(bytes, larger_regions);
    }
  }
  return best;
}

// The input is certainly sorted without scratch.
bool is_held(const GeneralPlanInput& input, const GeneralGeometry& plan) {
  const std::uint64_t most = input.accelerator_bytes != 0
                                 ? input.accelerator_bytes
                                 : (plan.regions - 1) * plan.region_bytes / 4 * 3;
  return input.size_known && input.input_bytes <= most;
}

// Of `memory`, which is too little for the input, what is worth taking: memory is dear where it is
// used for the first time. What is left should make as large regions, and hold some blocks of each
// run. All of it is worth taking for input that is not much larger, whose last chunks stay in it.
std::uint64_t worthwhile(const GeneralPlanInput& input, const GeneralGeometry& usual,
                         std::uint64_t memory) {
  if (input.input_bytes / kKeepingInputs < memory || input.longest_record > 0) return memory;
  const std::uint64_t half = worthwhile_memory(memory, input.input_bytes);
  const std::uint64_t runs = input.input_bytes / run_bytes(usual.region_bytes) + 1;
  const std::uint64_t less = std::min(half, kBlocksOfRun * runs * kMaxBlockBytes + kMaxWriteBytes);
  const auto plan = divide(input, static_cast<std::size_t>(less), 0);
  return plan && plan->region_bytes == usual.region_bytes ? less : memory;
}

void expect_runs(const GeneralPlanInput& input, GeneralGeometry& plan) {
  plan.merge_degree = most_degree(plan);
  if (!input.size_known || is_held(input, plan)) return;
  plan.runs = input.input_bytes / run_bytes(plan.region_bytes) + 1;
  plan.passes = passes_of(input, plan.runs, plan.merge_degree,
                          expected_table_bytes(input.input_bytes, plan.runs, plan.block_bytes),
                          plan.table_bytes);
}

}  // namespace

std::optional<GeneralGeometry> plan_general(const GeneralPlanInput& input) {
  const std::uint64_t block_part = input.size_known ? kBlockPart : kBlockPartOfUnknown;
  const std::size_t first_block_bytes =
      input.block_bytes != 0
          ? input.block_bytes
          : power_of_two(static_cast<std::size_t>(input.memory_bytes / block_part), kMinBlockBytes,
                         kMaxBlockBytes);
  const std::uint64_t undecoded =
      input.memory_bytes - input.staging_bytes - packing_bytes(input, 2 * first_block_bytes);
  const std::uint64_t most_memory = undecoded - std::min(undecoded, input.decoder_bytes);
  RunsPlan runs{first_block_bytes, most_memory, 0, input.spare_table_bytes};
  if (!input.size_known) {
    set_tables_aside(input, input.memory_bytes / kTablePartOfUnknown, runs);
  } else if (const auto usual = divide(input, most_memory, 0); usual && !is_held(input, *usual)) {
    runs = plan_runs(input, *usual, first_block_bytes, worthwhile(input, *usual, most_memory));
  }
  std::size_t region_bytes = runs.region_bytes;
  if (input.longest_record > 0) {
    region_bytes =
        std::max(region_bytes, sectors(input.longest_record + 2 * GeneralReader::kHeadroom));
  }
  std::optional<GeneralGeometry> divided =
      divide(input, static_cast<std::size_t>(runs.memory), region_bytes);
  if (!divided || !can_merge(input, *divided, runs.block_bytes)) return std::nullopt;
  GeneralGeometry& plan = *divided;
  plan.table_bytes = runs.table_bytes;
  plan.block_bytes = runs.block_bytes;
  plan.merge_cost = runs.merge_cost;
  plan.packed_block_bytes = 2 * runs.block_bytes;
  plan.slot_bytes = BlockPacker::slot_bytes(plan.block_bytes);
  plan.chunk_bytes = plan.region_bytes;
  if (input.size_known && input.input_bytes > 0 && input.longest_record == 0) {
    // Little input is divided among all threads; but what stays in memory has a region for each
    // part, and some to spare.
    std::uint64_t part = std::max(input.input_bytes / (3 * input.threads), kMiB);
    if (is_held(input, plan)) {
      part = std::max(part, input.input_bytes / (std::max<std::size_t>(plan.regions, 3) - 2));
    }
    plan.chunk_bytes = sectors(static_cast<std::size_t>(
        std::min<std::uint64_t>(plan.chunk_bytes, part + GeneralReader::kHeadroom)));
  }
  if (input.staging_bytes != 0 && input.longest_record == 0) {
    // What is read at a time should fill one buffer on the way to the accelerator: these go there
    // in order, so a worker that needs several of them holds up the others.
    const std::size_t buffer = input.staging_bytes / 2 / (input.threads + 2);
    plan.chunk_bytes =
        sectors(std::min(plan.chunk_bytes, std::max(buffer / 4 * 3, kMinRegionBytes)));
  }
  expect_runs(input, plan);
  return divided;
}

std::optional<GeneralPlanInput> with_best_threads(GeneralPlanInput input) {
  std::optional<GeneralGeometry> best;
  while (!(best = plan_general(input))) {
    if (--input.threads == 0) return std::nullopt;
  }
  GeneralPlanInput result = input;
  const bool forms_runs = input.accelerator_bytes == 0;  // and not an accelerator
  while (forms_runs && input.threads > kFewestThreads) {
    input.threads = std::max(input.threads / 2, kFewestThreads);
    const auto plan = plan_general(input);
    if (!plan || plan->merge_cost >= best->merge_cost) continue;
    best = plan;
    result = input;
  }
  return result;
}

}  // namespace xxl
