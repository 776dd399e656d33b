// The plan of a sort of any kind of record, and its report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/job.h"

namespace xxl {

// What will be done, before it is done (--explain).
struct SortPlan {
  std::uint64_t input_bytes = 0;  // 0 when unknown
  bool input_size_known = true;
  std::uint64_t memory_bytes = 0;
  std::uint64_t sort_memory_bytes = 0;  // of which for records, while runs are formed
  std::uint64_t block_bytes = 0;        // of a run
  std::uint64_t expected_runs = 0;      // on random input; 1: sorted in memory, no scratch
  std::uint64_t merge_degree = 0;
  unsigned passes = 0;              // merge passes expected; 0: none
  std::uint64_t scratch_bytes = 0;  // in the scratch directories: reserved, or with `limit` at most
  std::optional<std::uint64_t> limit;  // only the first `limit` records are written (text)
  unsigned threads = 0;
  std::string record_kind;     // key64, generic, ...
  std::string backend;         // io_uring or threads
  std::string device = "cpu";  // or the accelerator's name
  std::string no_accelerator;  // why it is not used, if it could have been
};

struct SortReport : Measurements {
  SortPlan plan;
  std::uint64_t records_in = 0;
  std::uint64_t records_out = 0;
  std::uint64_t skipped = 0;   // malformed records left out (text)
  std::uint64_t checksum = 0;  // multiset hash of the output
  std::uint64_t runs = 0;
  std::uint64_t merge_degree = 0;  // largest used
  unsigned passes = 0;             // merge passes done
  AcceleratorReport accelerator;
  std::uint64_t merged_bytes = 0;                 // of all merge passes
  std::uint64_t merged_on_accelerator_bytes = 0;  // of them
  std::string merged_on_cpu_because;  // why the accelerator did not merge as asked; or empty
};

}  // namespace xxl
