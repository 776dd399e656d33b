#include "pipeline/external_join.h"

#include "base/error.h"
#include "join/output_layout.h"
#include "pipeline/sort_merge_join.h"

namespace xxl {
namespace {

void check(const RecordJoinOptions& options) {
  check_compatible(options.formats);
  if (options.inputs[0] == "-" && options.inputs[1] == "-") {
    throw Error(ErrorCode::usage, "both inputs cannot be standard input");
  }
}

}  // namespace

JoinPlan plan_join(const RecordJoinOptions& options) {
  check(options);
  return plan_sort_merge_join(options);
}

JoinReport external_join(const RecordJoinOptions& options) {
  check(options);
  return sort_merge_join(options);
}

}  // namespace xxl
