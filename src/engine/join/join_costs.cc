#include "engine/join/join_costs.h"

#include <algorithm>

#include "base/error.h"
#include "base/units.h"
#include "io/disk_probe.h"

namespace xxl {
namespace {

// Seconds of one processor for a record, as bench/join.py found them (docs/hash-join.md).
constexpr double kSortRecord = 40e-9;
constexpr double kSortRecordOnGpu = 15e-9;
constexpr double kBuildRecord = 100e-9;
constexpr double kProbeRecord = 85e-9;
constexpr double kProbeRecordInCache = 30e-9;
constexpr std::uint64_t kCacheBytes = 16 * kMiB;
// For a byte beyond those of the smallest records: both methods copy it about as often.
constexpr double kByte = 0.5e-9;
constexpr double kSmallRecordBytes = 16;

constexpr double kAssumedRate = 1e9;

double disk_rate_of(const RecordJoinOptions& options) {
  if (options.queue_factory || options.scratch_dirs.empty()) return kAssumedRate;
  try {
    const io::ProbeResult disk =
        io::probe_directory(options.scratch_dirs.front(), {.file_bytes = 64 * kMiB,
                                                           .seconds = 0.1,
                                                           .backend = options.backend,
                                                           .block_bytes = {256 * kKiB},
                                                           .depths = {16}});
    return disk.choice.both_rate;
  } catch (const Error&) {
    return kAssumedRate;  // a full disk, say: if it matters, the join will say so
  }
}

double bytes_seconds(double records, std::size_t record_bytes) {
  return records * kByte * std::max(0.0, static_cast<double>(record_bytes) - kSmallRecordBytes);
}

}  // namespace

JoinCosts estimate_costs(const RecordJoinOptions& options, const JoinPlan& sort_merge,
                         const JoinPlan& hash) {
  double input_bytes = 0, scratch_bytes = 0, copying = 0, sorting = 0, most_records = 0;
  for (std::size_t i = 0; i < kJoinSides; ++i) {
    const JoinPlan::Side& side = sort_merge.sides[i];
    const std::size_t record_bytes = options.formats[i].record_bytes;
    const double records =
        static_cast<double>(side.input_bytes) / static_cast<double>(record_bytes);
    most_records = std::max(most_records, records);
    input_bytes += static_cast<double>(side.input_bytes);
    copying += bytes_seconds(records, record_bytes);
    if (side.presorted) continue;
    const double passes = 1 + side.passes;
    scratch_bytes += static_cast<double>(side.scratch_bytes > 0 ? side.input_bytes : 0) * passes;
    sorting += records * passes * (side.device == "cpu" ? kSortRecord : kSortRecordOnGpu);
  }
  const std::size_t build = static_cast<std::size_t>(hash.build);
  const auto records_of = [&](std::size_t i) {
    return static_cast<double>(hash.sides[i].input_bytes) /
           static_cast<double>(options.formats[i].record_bytes);
  };
  const double probing =
      records_of(build) * kBuildRecord +
      records_of(1 - build) * (hash.table_bytes > kCacheBytes ? kProbeRecord : kProbeRecordInCache);
  // A row for each record of the longer side, as with a foreign key.
  const double output_bytes =
      options.count_only ? 0 : most_records * static_cast<double>(sort_merge.output_bytes);

  JoinCosts costs;
  costs.disk_rate = disk_rate_of(options);
  const double once = (input_bytes + output_bytes) / costs.disk_rate;
  costs.hash = std::max(once, (probing + copying) / std::max(hash.threads, 1u));
  costs.sort_merge = std::max(once + 2 * scratch_bytes / costs.disk_rate,
                              (sorting + copying) / std::max(sort_merge.threads, 1u));
  return costs;
}

}  // namespace xxl
