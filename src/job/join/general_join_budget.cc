#include "job/join/general_join_budget.h"

#include <algorithm>

#include "base/error.h"
#include "base/memory_name.h"
#include "base/memory_plan.h"
#include "base/units.h"
#include "job/general_sort/file_cursor.h"
#include "job/general_sort/general_job_plan.h"

namespace xxl {
namespace {

constexpr std::uint64_t kMinThreadBytes = 8 * kMiB;
// Of -S: to keep a group of equal keys in; buffers of rows of all threads, and as much for parts of
// S; buffers of an input that comes sorted.
constexpr MemorySlot kTextGroup{.share = 16, .least = 64 * kKiB, .wanted = 64 * kMiB};
constexpr MemorySlot kTextRows{.share = 64, .least = 16 * kKiB, .wanted = kMiB};
constexpr MemorySlot kTextFile{.share = 16, .least = 8 * kKiB, .wanted = kMiB};
// Long records of such inputs; as much again is for the rows made of them.
constexpr std::uint64_t kRecordPart = 8;
constexpr std::uint64_t kMinRecordBytes = 64 * kKiB;
constexpr std::uint64_t kMinSideBytes = kMiB;  // of an input that is sorted, if there are as many

// Of the regions of an input, those that its runs may stay in. They leave if a record is long.
std::uint64_t resident_bytes(const GeneralPlanInput& input, const GeneralGeometry& geometry) {
  constexpr std::uint64_t kResidentPart = 3;
  const bool is_held = input.size_known && geometry.passes == 0;
  if (!is_held) return geometry.regions / kResidentPart * geometry.region_bytes;
  const std::uint64_t filled = input.input_bytes / (geometry.region_bytes / 2) + 1;
  return std::min<std::uint64_t>(geometry.regions, filled) * geometry.region_bytes;
}

}  // namespace

GeneralJoinBudget make_budget(const GeneralJoinOptions& options, std::uint64_t memory,
                              bool is_little) {
  GeneralJoinBudget budget;
  budget.threads = static_cast<unsigned>(
      std::clamp<std::uint64_t>(memory / kMinThreadBytes, 1, options.thread_count()));
  if (is_little) budget.threads = 1;
  budget.group_bytes = round_down<std::uint64_t>(kTextGroup.of(memory), 2 * kSectorBytes);
  budget.rows_bytes = kTextRows.of(memory / budget.threads);
  std::uint64_t taken = budget.group_bytes + 4 * budget.threads * budget.rows_bytes;
  for (const bool presorted : options.presorted) {
    if (!presorted) continue;
    budget.file_bytes = round_down<std::uint64_t>(kTextFile.of(memory), 2 * kSectorBytes);
    taken += budget.file_bytes;
  }
  if (budget.file_bytes > 0) {
    // If nothing is to be sorted, all the memory is theirs.
    const bool sorts = !options.presorted[0] || !options.presorted[1];
    budget.record_bytes = std::max(sorts ? memory / kRecordPart : memory / 2, kMinRecordBytes);
    if (sorts) taken += 2 * budget.record_bytes;
  }
  if (taken >= memory) {
    throw Error(ErrorCode::no_space,
                memory_of_name(options.given_memory_bytes()) + " is too small to join: give more");
  }
  budget.rest = memory - taken;
  return budget;
}

GeneralPlanInput plan_input_of_output(const GeneralJoinOptions& options,
                                      const GeneralJoinBudget& budget) {
  GeneralPlanInput input;
  input.memory_bytes = budget.rest;
  input.threads = budget.threads;
  input.keys_are_records = false;
  if (options.spare_table_bytes) input.spare_table_bytes = *options.spare_table_bytes;
  if (!options.count_only) input.output_codec = options.output_codec();
  return input;
}

std::array<GeneralPlanInput, kJoinSides> plan_inputs(const GeneralJoinOptions& options,
                                                     const GeneralJoinBudget& budget,
                                                     const JoinInputs& inputs) {
  const GeneralPlanInput common = plan_input_of_output(options, budget);
  std::array<GeneralPlanInput, kJoinSides> plans{common, common};
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    plans[i].input_bytes = options.shared != nullptr ? options.shared_bytes[i] : inputs[i].bytes;
    plans[i].size_known = inputs[i].size_known;
  }
  if (inputs[0].presorted || inputs[1].presorted) return plans;
  std::uint64_t part = budget.rest / 2;
  const std::uint64_t least = std::min(std::max(budget.rest / 4, kMinSideBytes), part);
  const std::uint64_t bytes = plans[0].input_bytes + plans[1].input_bytes;
  if (plans[0].size_known && plans[1].size_known && bytes > 0) {
    part = std::clamp(static_cast<std::uint64_t>(static_cast<double>(budget.rest) *
                                                 static_cast<double>(plans[0].input_bytes) /
                                                 static_cast<double>(bytes)),
                      least, budget.rest - least);
  }
  plans[0].memory_bytes = part;
  plans[1].memory_bytes = budget.rest - part;
  for (GeneralPlanInput& plan : plans) plan.spare_table_bytes /= kJoinSides;
  return plans;
}

bool has_room_for(const GeneralJoinOptions& options, const GeneralJoinBudget& budget,
                  const JoinInputs& inputs, const JoinLongRecords& longest) {
  std::array<GeneralPlanInput, kJoinSides> plans = plan_inputs(options, budget, inputs);
  std::uint64_t joined = 0;  // of inputs that come sorted
  unsigned threads = budget.threads;
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    if (!inputs[i].presorted) {
      const auto best = with_best_threads(plans[i]);
      if (!best) return false;
      threads = std::min(threads, best->threads);
      continue;
    }
    // A record, and the one before.
    for (const std::uint64_t bytes : {longest[i][0], longest[i][1]}) {
      if (bytes > budget.file_bytes / 2) joined += JoinedRecord::memory_bytes(bytes);
    }
  }
  if (joined > budget.record_bytes) return false;
  // Blocks of both inputs share the memory. In the end, a record of each is held, and the first of
  // R with that key.
  std::uint64_t blocks = 0, held = 0, merged = 0;
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    if (inputs[i].presorted) continue;
    plans[i].threads = threads;
    const auto geometry = geometry_for(plans[i], {static_cast<std::size_t>(longest[i][0]), 0});
    if (!geometry) return false;
    const std::uint64_t others = longest[i][0] == 0 ? 0 : 4 * geometry->block_bytes;
    const std::uint64_t two = longest[i][0] + longest[i][1] + others;
    blocks += geometry->merge_bytes - resident_bytes(plans[i], *geometry);
    held += i == 0 ? two : longest[i][0] + others;
    merged = std::max(merged, two);
  }
  return std::max(held, merged) <= blocks;
}

}  // namespace xxl
