// What a join would cost by sorting and by hash, to choose between them.
#pragma once

#include <cstdint>

#include "job/join/fixed_join_options.h"

namespace xxl {

// Seconds that a join is expected to take: the longer of what its processors and its disks need.
struct JoinCosts {
  double sort_merge = 0;
  double hash = 0;
  double disk_rate = 0;  // bytes a second, reading and writing, that this was worked out with
};

// Less input is joined by hash if it can be: both ways take a moment.
inline constexpr std::uint64_t kWorthEstimating = std::uint64_t{1} << 30;

// Bytes a second where the disk cannot be measured.
inline constexpr double kAssumedDiskRate = 1e9;

// For the same inputs, of known sizes, sorted on the CPU. Measures the disk of the first scratch
// directory, with an unnamed file there: that takes some tenths of a second.
JoinCosts estimate_costs(const FixedJoinOptions& options, const JoinPlan& sort_merge,
                         const JoinPlan& hash);

}  // namespace xxl
