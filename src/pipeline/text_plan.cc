#include "pipeline/text_plan.h"

#include <algorithm>
#include <bit>
#include <string>

#include "base/error.h"
#include "base/units.h"
#include "pipeline/text_reader.h"
#include "sort/string_sort.h"

namespace xxl {
namespace {

// A chunk and its items should stay near the cache.
constexpr std::size_t kRegionBytes = 32 * kMiB;
constexpr std::size_t kMinRegionBytes = 160 * kKiB;
constexpr std::size_t kMaxRegionBytes = 2 * kGiB - kMiB;  // places of records have 31 bits each
constexpr std::size_t kMinBlockBytes = 16 * kKiB;
constexpr std::size_t kMaxBlockBytes = 256 * kKiB;
constexpr std::size_t kMaxOutputBlockBytes = kMiB;
constexpr std::size_t kMaxWriteBytes = 24 * kMiB;
constexpr std::size_t kTableBytesPerBlock = 128;  // of a run block: trigger, place, cells

std::size_t power_of_two(std::size_t bytes, std::size_t low, std::size_t high) {
  return std::clamp(std::bit_floor(std::max<std::size_t>(bytes, 1)), low, high);
}

}  // namespace

TextGeometry plan_text(const TextPlanInput& input) {
  const unsigned threads = std::max(1u, input.threads);
  TextGeometry plan;
  std::uint64_t tables = 0;
  const auto divide = [&](std::size_t region_bytes) {
    // Workers need a region each, and so does what is read and what is read ahead.
    const std::size_t wanted_regions = 2 * threads + 2;
    const std::size_t memory = static_cast<std::size_t>(input.memory_bytes - tables);
    plan.memory_bytes = memory;
    plan.output_block_bytes =
        power_of_two(memory / (16 * (threads + 2)), kMinBlockBytes, kMaxOutputBlockBytes);
    plan.write_bytes =
        std::clamp(memory / 16, (2 * threads + 4) * plan.output_block_bytes,
                   std::max(kMaxWriteBytes, (2 * threads + 4) * plan.output_block_bytes));
    if (input.longest_record > 0) {
      plan.write_bytes =
          std::max(plan.write_bytes, round_up(input.longest_record + kSectorBytes, kSectorBytes));
    }
    if (plan.write_bytes > memory) return false;
    const std::size_t rest = memory - plan.write_bytes;
    // Of a region of Z bytes: Z/32 items (records of 16 bytes and more fill it), twice for the
    // worker, and room for keys; half as many where keys are made.
    const std::size_t per_item =
        2 * sizeof(StringItem) + (input.keys_are_records ? 0 : kKeyMemoryPerItem);
    const std::size_t share = input.keys_are_records ? 32 : 80;
    std::size_t region = region_bytes;
    if (region == 0) {
      const std::size_t most = rest / (wanted_regions + threads);
      region = std::min(kRegionBytes, most);
    }
    region = round_down(std::min(region, kMaxRegionBytes), kSectorBytes);
    if (region < kMinRegionBytes) return false;
    plan.region_bytes = region;
    plan.item_capacity =
        std::min(region, std::max(kMinRegionBytes,
                                  std::min(kRegionBytes, rest / (wanted_regions + threads)))) /
        share;
    plan.key_bytes =
        input.keys_are_records ? 0 : round_up(plan.item_capacity * kKeyMemoryPerItem, kSectorBytes);
    const std::size_t fixed =
        threads *
        (2 * round_up(plan.item_capacity * sizeof(StringItem), kSectorBytes) + plan.key_bytes);
    static_cast<void>(per_item);
    if (fixed > rest) return false;
    plan.regions = (rest - fixed) / region;
    return plan.regions >= 2;
  };
  const auto refuse = [&]() {
    throw Error(ErrorCode::no_space,
                "the memory of -S (" + format_bytes(input.memory_bytes) + ") is too small for " +
                    std::to_string(threads) + " threads" +
                    (input.longest_record > 0
                         ? " and records of " + format_bytes(input.longest_record) + ": give more"
                         : ""));
  };
  std::size_t region = 0;
  plan.block_bytes = power_of_two(static_cast<std::size_t>(input.memory_bytes / 256),
                                  kMinBlockBytes, kMaxBlockBytes);
  if (input.size_known && input.input_bytes > input.memory_bytes) {
    // Runs must be so few that a merge can hold two blocks of each.
    for (;; plan.block_bytes /= 2) {
      tables = input.input_bytes / plan.block_bytes * kTableBytesPerBlock;
      if (tables > input.memory_bytes / 4) {
        tables = input.memory_bytes / 4;
      }
      if (!divide(0)) refuse();
      const std::uint64_t runs = input.input_bytes / (plan.region_bytes / 5 * 4) + 1;
      const std::uint64_t most = plan.memory_bytes / 2 / (2 * plan.block_bytes);
      if (runs <= most) break;
      if (plan.block_bytes > kMinBlockBytes) continue;
      // Larger regions, as far as each thread still has one.
      const std::size_t largest = (plan.memory_bytes - plan.write_bytes) / (2 * threads + 3);
      region = std::min<std::size_t>(
          largest, static_cast<std::size_t>(input.input_bytes / most * 5 / 4 + 1));
      region = std::max(region, plan.region_bytes);
      break;
    }
  }
  if (input.longest_record > 0) {
    region = std::max(region,
                      round_up(2 * input.longest_record + 2 * TextReader::kHeadroom, kSectorBytes));
  }
  if (!divide(region)) refuse();
  plan.chunk_bytes = plan.region_bytes;
  if (input.size_known && input.input_bytes > 0 && input.longest_record == 0) {
    // Little input is shared out to all threads.
    const std::uint64_t part = input.input_bytes / (3 * threads);
    plan.chunk_bytes = std::min(
        plan.chunk_bytes,
        round_up(std::max(static_cast<std::size_t>(std::min<std::uint64_t>(part, kMaxRegionBytes)),
                          kMiB) +
                     TextReader::kHeadroom,
                 kSectorBytes));
  }
  return plan;
}

std::size_t longest_record(const TextPlanInput& input) {
  std::size_t low = 0, high = static_cast<std::size_t>(input.memory_bytes);
  while (high - low > 4096) {
    TextPlanInput trial = input;
    trial.longest_record = low + (high - low) / 2;
    try {
      plan_text(trial);
      low = trial.longest_record;
    } catch (const Error&) {
      high = trial.longest_record;
    }
  }
  return low;
}

}  // namespace xxl
