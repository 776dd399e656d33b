// A join of records of any length that a caller fills in and takes out: the general join, whose
// inputs and output are counted records (record/record_syntax.h).
//
//   inputs   [ bytes of the key ][ key ][ rest ]
//   output   [ sides ][ bytes of the key ][ key ][ bytes of R's rest ][ R's rest ][ S's rest ]
//              1 byte       4 bytes                   4 bytes
//
// The byte `sides` says which records the row is made of: 1 of R, 2 of S, 3 of both. Of a semi or
// anti join all rows are of R.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "callers/caller_job.h"
#include "xxl/job.h"
#include "xxl/join_kind.h"
#include "xxl/resources.h"

namespace xxl::detail {

struct JoinSpec {
  JoinKind how = JoinKind::inner;
  std::uint64_t memory_bytes = 0;  // 0: an equal part of the resources
  // True of a key of R that equals no other; may be empty. Called from many threads.
  std::function<bool(std::string_view key)> matches_nothing;
  Progress* progress = nullptr;                    // may be null
  std::function<FileTraffic()> file_traffic = {};  // as of SorterSpec
};

// S is filled first, then R.
class JoinCore : public CallerJob {
 public:
  static constexpr std::byte kHasR{1};
  static constexpr std::byte kHasS{2};

  JoinCore(const resources& shared, const JoinSpec& spec);
};

}  // namespace xxl::detail
