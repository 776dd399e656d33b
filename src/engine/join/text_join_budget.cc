#include "engine/join/text_join_budget.h"

#include <algorithm>

#include "base/error.h"
#include "base/machine_limits.h"
#include "base/memory_region.h"
#include "base/units.h"

namespace xxl {
namespace {

constexpr std::uint64_t kMinThreadBytes = 8 * kMiB;
// Parts of the memory, of -S:
constexpr std::uint64_t kGroupPart = 16;  // to keep a group of equal keys in
constexpr std::uint64_t kMinGroupBytes = 64 * kKiB;
constexpr std::uint64_t kMaxTextGroupBytes = 64 * kMiB;
constexpr std::uint64_t kRowsPart = 64;  // buffers of rows, of all threads; likewise parts of S
constexpr std::uint64_t kMinRowsBytes = 16 * kKiB;
constexpr std::uint64_t kMaxRowsBytes = kMiB;
constexpr std::uint64_t kFilePart = 16;  // buffers of an input that comes sorted
constexpr std::uint64_t kMinFileBytes = 8 * kKiB;
constexpr std::uint64_t kMaxTextFileBytes = kMiB;
// Long records of such inputs; as much again is for the rows made of them.
constexpr std::uint64_t kRecordPart = 8;
constexpr std::uint64_t kMinRecordBytes = 64 * kKiB;

}  // namespace

TextJoinBudget make_budget(const TextJoinOptions& options, std::uint64_t memory, bool is_little) {
  TextJoinBudget budget;
  budget.threads = static_cast<unsigned>(
      std::clamp<std::uint64_t>(memory / kMinThreadBytes, 1,
                                options.parallel != 0 ? options.parallel : available_processors()));
  if (is_little) budget.threads = 1;
  budget.group_bytes = round_down<std::uint64_t>(
      std::clamp(memory / kGroupPart, kMinGroupBytes, kMaxTextGroupBytes), 2 * kSectorBytes);
  budget.rows_bytes =
      std::clamp(memory / (kRowsPart * budget.threads), kMinRowsBytes, kMaxRowsBytes);
  std::uint64_t taken = budget.group_bytes + 4 * budget.threads * budget.rows_bytes;
  for (const bool presorted : options.presorted) {
    if (!presorted) continue;
    budget.file_bytes = round_down<std::uint64_t>(
        std::clamp(memory / kFilePart, kMinFileBytes, kMaxTextFileBytes), 2 * kSectorBytes);
    taken += budget.file_bytes;
  }
  if (budget.file_bytes > 0) {
    // If nothing is to be sorted, all the memory is theirs.
    const bool sorts = !options.presorted[0] || !options.presorted[1];
    budget.record_bytes = std::max(sorts ? memory / kRecordPart : memory / 2, kMinRecordBytes);
    if (sorts) taken += 2 * budget.record_bytes;
  }
  if (taken >= memory) {
    throw Error(ErrorCode::no_space, "the memory of -S (" +
                                         format_bytes(options.given_memory_bytes()) +
                                         ") is too small to join: give more");
  }
  budget.rest = memory - taken;
  return budget;
}

}  // namespace xxl
