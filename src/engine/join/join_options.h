// Options and reports of joins of every kind of record.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/job.h"
#include "join/join_kind.h"

namespace xxl {

enum class JoinMethod {
  automatic,   // by sizes, order and memory
  sort_merge,  // both inputs in order of their keys; so is the output
  hash,        // the smaller input in a table in memory; rows in the order of the other
};

struct JoinOptions : JobOptions {
  JoinKind kind = JoinKind::inner;
  JoinMethod method = JoinMethod::automatic;
  std::array<std::string, kJoinSides> inputs;  // R and S; one may be "-", standard input
  // The input is in the order of its keys: it is not sorted, and checked on the way.
  std::array<bool, kJoinSides> presorted{};
  bool count_only = false;  // only counts rows: nothing is written
};

// What will be done, before it is done (--explain).
struct JoinPlan {
  struct Side {
    std::uint64_t input_bytes = 0;  // 0 when unknown
    bool size_known = true;
    bool presorted = false;           // not sorted here: given or found in order
    std::uint64_t expected_runs = 0;  // 0 if it is not sorted
    unsigned passes = 0;              // merge passes before the one that feeds the join
    std::uint64_t scratch_bytes = 0;
    std::string device = "cpu";  // that sorts it
  };
  std::array<Side, kJoinSides> sides;
  JoinMethod method = JoinMethod::sort_merge;  // never automatic
  JoinSide build = JoinSide::r;                // hash: the input that is held in memory
  std::string because;                         // why this method
  std::uint64_t memory_bytes = 0;
  std::uint64_t table_bytes = 0;   // hash: of the table with its records
  std::uint64_t output_bytes = 0;  // of a row; 0 if rows are of any length
  unsigned threads = 0;
  std::string backend;         // io_uring or threads
  std::string no_accelerator;  // why it is not used, if it could have been
};

struct JoinReport : Measurements {
  JoinPlan plan;
  struct Side {
    std::uint64_t records = 0;
    std::uint64_t skipped = 0;  // malformed records left out
    std::uint64_t matched = 0;  // records with at least one partner
    std::uint64_t runs = 0;
    unsigned passes = 0;
  };
  std::array<Side, kJoinSides> sides;
  std::uint64_t rows = 0;  // of the output, or counted
  std::uint64_t bytes_written = 0;
  std::uint64_t checksum = 0;       // multiset hash of the rows
  std::uint64_t spilled_bytes = 0;  // of groups of equal keys that did not fit in memory
  AcceleratorReport accelerator;
};

}  // namespace xxl
