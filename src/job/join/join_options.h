// Options of joins of every kind of record.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "job/job.h"
#include "join/join_kind.h"
#include "xxl/join.h"

namespace xxl {

struct JoinOptions : JobOptions {
  JoinKind how = JoinKind::inner;
  JoinMethod method = JoinMethod::automatic;
  std::array<std::string, kJoinSides> inputs;  // R and S; one may be "-", standard input
  // The input is in the order of its keys: it is not sorted, and checked on the way.
  std::array<bool, kJoinSides> presorted{};
  bool count_only = false;  // only counts rows: nothing is written
  // With a number of parts: what the rows take, as was found out (counted_first.h).
  std::optional<std::uint64_t> expected_bytes{};
};

}  // namespace xxl
