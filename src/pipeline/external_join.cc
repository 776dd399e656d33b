#include "pipeline/external_join.h"

#include <string>
#include <utility>

#include "base/error.h"
#include "join/output_layout.h"
#include "pipeline/hash_join.h"
#include "pipeline/sort_merge_join.h"

namespace xxl {
namespace {

void check(const RecordJoinOptions& options) {
  check_compatible(options.formats);
  if (options.inputs[0] == "-" && options.inputs[1] == "-") {
    throw Error(ErrorCode::usage, "both inputs cannot be standard input");
  }
}

// A hash join reads each input once. So does a sort-merge join of inputs that are in order, which
// needs no memory for it; and what GPUs are asked for is sorting.
JoinPlan choose(const RecordJoinOptions& options) {
  std::string reason;
  if (options.method == JoinMethod::hash) {
    auto plan = plan_hash_join(options, reason);
    if (!plan) throw Error(ErrorCode::no_space, reason);
    plan->because = "asked for; " + reason;
    return *std::move(plan);
  }
  const auto sort_merge = [&](const std::string& because) {
    JoinPlan plan = plan_sort_merge_join(options);
    plan.because = because;
    return plan;
  };
  if (options.method == JoinMethod::sort_merge) return sort_merge("asked for");
  if (options.acceleration == Acceleration::always) {
    return sort_merge("GPUs were asked for, and they sort");
  }
  if (options.presorted[0] && options.presorted[1]) return sort_merge("both inputs are sorted");
  auto plan = plan_hash_join(options, reason);
  if (!plan) return sort_merge(reason);
  if (plan->sides[0].size_known && plan->sides[1].size_known) {
    JoinPlan other = sort_merge("both inputs look sorted");
    if (other.sides[0].presorted && other.sides[1].presorted) return other;
  }
  plan->because = reason;
  return *std::move(plan);
}

}  // namespace

JoinPlan plan_join(const RecordJoinOptions& options) {
  check(options);
  return choose(options);
}

JoinReport external_join(const RecordJoinOptions& options) {
  check(options);
  const JoinPlan plan = choose(options);
  JoinReport report =
      plan.method == JoinMethod::hash ? hash_join(options) : sort_merge_join(options);
  report.plan.because = plan.because;
  return report;
}

}  // namespace xxl
