#include "job/join/fixed_join.h"
#include "job/job_io.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "base/error.h"
#include "job/join/counted_first.h"
#include "job/join/hash_join.h"
#include "job/join/join_costs.h"
#include "job/join/sort_merge_join.h"
#include "join/output_layout.h"

namespace xxl {
namespace {

// Rows are in the order of the key, as R has it.
void check_key_of_parts(const FixedJoinOptions& options) {
  RecordFormat by_parts = options.formats[0];
  part_by_field(options.part_by, by_parts.key.front().descending, by_parts);
  if (by_parts.key.size() != options.formats[0].key.size()) {
    throw Error(ErrorCode::usage, "--part-by=" + options.part_by +
                                      ": parts of a join are by the first field of the left key");
  }
  if (!RowLayout(options.formats, options.how, options.layout).first_key()) {
    throw Error(ErrorCode::usage, "--part-by needs the key in the rows: add 0 to the layout");
  }
}

void check(const FixedJoinOptions& options) {
  check_compatible(options.formats);
  if (options.inputs[0] == "-" && options.inputs[1] == "-") {
    throw Error(ErrorCode::usage, "both inputs cannot be standard input");
  }
  if (!options.part_by.empty()) check_key_of_parts(options);
}

// A sort-merge join is taken instead of a hash join, which moves less, if it is expected to take at
// most this part of the time.
constexpr double kClearlyLess = 0.9;

std::string describe(const JoinCosts& costs) {
  char text[128];
  std::snprintf(text, sizeof text,
                "sorting is expected to take %.2g s, a table %.2g s, with a disk of %.2g GB/s",
                costs.sort_merge, costs.hash, costs.disk_rate / 1e9);
  return text;
}

// A hash join reads each input once. So does a sort-merge join of inputs that are in order, or that
// fit in memory, where sorting is faster than waiting for the memory at every record
// (bench/join.py); and GPUs are asked for to sort.
JoinPlan choose(const FixedJoinOptions& options) {
  std::string reason;
  const auto sort_merge = [&](const std::string& because) {
    JoinPlan plan = plan_sort_merge_join(options);
    plan.because = because;
    return plan;
  };
  if (options.method == JoinMethod::sort_merge) return sort_merge("asked for");
  if (options.in_parts()) {
    if (options.method == JoinMethod::hash) {
      throw Error(ErrorCode::usage,
                  "parts are ranges of keys, and a hash join gives rows in no order of keys: leave "
                  "out --method=hash");
    }
    return sort_merge("parts are ranges of keys");
  }
  if (options.method == JoinMethod::hash) {
    auto plan = plan_hash_join(options, reason);
    if (!plan) return sort_merge("a table was asked for, but " + reason);
    plan->because = "asked for; " + reason;
    return *std::move(plan);
  }
  if (options.acceleration == Acceleration::always) {
    return sort_merge("GPUs were asked for, and they sort");
  }
  JoinPlan sorting;
  try {
    sorting = sort_merge("");
  } catch (const Error& error) {
    if (error.code() != ErrorCode::no_space) throw;
    auto hashing = plan_hash_join(options, reason);  // which may need less
    if (!hashing) throw;
    hashing->because = reason;
    return *std::move(hashing);
  }
  const auto is_sorted = [](const JoinPlan::Side& side) { return side.presorted; };
  const auto needs_no_scratch = [](const JoinPlan::Side& side) {
    return side.presorted || (side.size_known && side.scratch_bytes == 0);
  };
  if (std::all_of(sorting.sides.begin(), sorting.sides.end(), is_sorted)) {
    sorting.because = "both inputs are sorted, or look so";
    return sorting;
  }
  if (std::all_of(sorting.sides.begin(), sorting.sides.end(), needs_no_scratch)) {
    sorting.because = "what must be sorted fits in memory";
    return sorting;
  }
  auto hashing = plan_hash_join(options, reason);
  if (!hashing) {
    sorting.because = reason;
    return sorting;
  }
  const auto can_be_estimated = [](const JoinPlan::Side& side) {
    return side.size_known && side.device == "cpu";
  };
  const auto& [r, s] = sorting.sides;
  if (can_be_estimated(r) && can_be_estimated(s) &&
      r.input_bytes + s.input_bytes >= kWorthEstimating) {
    const JoinCosts costs = estimate_costs(options, sorting, *hashing);
    if (costs.sort_merge < kClearlyLess * costs.hash) {
      sorting.because = reason + ", but " + describe(costs);
      return sorting;
    }
    reason += ", and " + describe(costs);
  }
  hashing->because = reason;
  return *std::move(hashing);
}

}  // namespace

JoinPlan plan_join(const FixedJoinOptions& options) {
  check(options);
  JoinPlan plan = choose(options);
  plan.backend = backend_name(options);
  return plan;
}

JoinReport fixed_join(const FixedJoinOptions& options) {
  check(options);
  if (options.parts != 0 && !options.count_only && !options.expected_bytes) {
    return join_counted_first(
        options,
        [](FixedJoinOptions rows) {
          rows.count_only = true;
          const RowLayout layout(rows.formats, rows.how, rows.layout);
          JoinReport report = fixed_join(rows);
          return std::pair(report, report.rows * layout.row_bytes());
        },
        fixed_join);
  }
  const JoinPlan plan = choose(options);
  JoinReport report =
      plan.method == JoinMethod::hash ? hash_join(options) : sort_merge_join(options);
  report.plan.because = plan.because;
  return report;
}

}  // namespace xxl
