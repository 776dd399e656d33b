#include "job/join/join_costs.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/units.h"
#include "io/disk_probe.h"

namespace xxl {
namespace {

// Seconds of one processor for a record, rows and all (docs/internals/joining.md has what was
// measured).
constexpr double kSortRecord = 40e-9;
constexpr double kBuildRecord = 40e-9;
constexpr double kProbeRecord = 48e-9;
constexpr double kProbeRecordInCache = 30e-9;
constexpr std::uint64_t kCacheBytes = 16 * kMiB;

double disk_rate_of(const FixedJoinOptions& options) {
  if (options.queue_factory || options.scratch_dirs.empty()) return kAssumedDiskRate;
  try {
    const io::ProbeResult disk =
        io::probe_directory(options.scratch_dirs.front(), {.file_bytes = 64 * kMiB,
                                                           .seconds = 0.1,
                                                           .backend = options.backend,
                                                           .block_bytes = {256 * kKiB},
                                                           .depths = {16}});
    return disk.choice.both_rate;
  } catch (const Error&) {
    return kAssumedDiskRate;  // a full disk, say: if it matters, the join will say so
  }
}

}  // namespace

JoinCosts estimate_costs(const FixedJoinOptions& options, const JoinPlan& sort_merge,
                         const JoinPlan& hash) {
  std::array<double, kJoinSides> records;
  double input_bytes = 0, scratch_bytes = 0, sorting = 0;
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    const JoinPlan::Side& side = sort_merge.sides[i];
    const auto bytes = static_cast<double>(side.input_bytes);
    records[i] = bytes / static_cast<double>(options.formats[i].record_bytes);
    input_bytes += bytes;
    if (side.presorted) continue;
    const double passes = 1 + side.passes;
    if (side.scratch_bytes > 0) scratch_bytes += bytes * passes;
    sorting += records[i] * passes * kSortRecord;
  }
  const auto build = static_cast<std::size_t>(hash.build);
  const double probing =
      records[build] * kBuildRecord +
      records[1 - build] * (hash.table_bytes > kCacheBytes ? kProbeRecord : kProbeRecordInCache);
  // A row for each record of the longer side, as with a foreign key.
  const double output_bytes = options.count_only ? 0
                                                 : std::max(records[0], records[1]) *
                                                       static_cast<double>(sort_merge.output_bytes);

  JoinCosts costs;
  costs.disk_rate = disk_rate_of(options);
  const double once = (input_bytes + output_bytes) / costs.disk_rate;
  costs.hash = std::max(once, probing / std::max(hash.threads, 1u));
  costs.sort_merge = std::max(once + 2 * scratch_bytes / costs.disk_rate,
                              sorting / std::max(sort_merge.threads, 1u));
  return costs;
}

}  // namespace xxl
