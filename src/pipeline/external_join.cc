#include "pipeline/external_join.h"

#include "base/error.h"

namespace xxl {

JoinPlan plan_join(const RecordJoinOptions&) {
  throw Error(ErrorCode::usage, "joining binary records is not built yet");
}

JoinReport external_join(const RecordJoinOptions&) {
  throw Error(ErrorCode::usage, "joining binary records is not built yet");
}

}  // namespace xxl
