// The plan and the report of a sort or join of columns, for people (--explain, --stats) and
// programs (--stats=json).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "columns/files/memory_plan.h"
#include "columns/files/module_table.h"
#include "report/summary.h"
#include "xxl/job.h"

namespace xxl::cli {

// One table that is read: the input of a sort, a side of a join.
struct ColumnsInput {
  std::vector<std::string> files;
  module_table::SourceFacts facts{};
};

// What is to be done, and how.
struct ColumnsPlan {
  bool is_join = false;
  std::string record;                // "parquet"
  std::vector<ColumnsInput> inputs;  // one, or those of the left and right side
  bool swapped = false;              // of a join: the right one is the first
  std::string by;                    // "ts, user descending"
  std::string method;                // of a join: hash or sort-merge, which is meant, then used
  std::string because;               // on what that depends, then why it was not what was meant
  std::uint64_t skip = 0;
  std::optional<std::uint64_t> limit;
  std::string output;       // empty: rows are only counted
  std::string format;       // of the output: "parquet", "arrow file", "arrow stream"
  std::string compression;  // "zstd", "zstd:9"
  std::uint64_t memory_bytes = 0;
  ColumnFileMemory memory;
  unsigned threads = 0;
  std::vector<std::string> scratch_dirs;
};

// What was done.
struct ColumnsReport : Measurements {
  module_table::TargetFacts written{};
  std::uint64_t bytes_written = 0;
  std::uint64_t peak_file_memory_bytes = 0;  // of ColumnFileMemory::module_bytes
};

// The plan, one fact a line, and as an object, whose members are described in the manual page.
std::string explain(const ColumnsPlan& plan);
std::string explain_json(const ColumnsPlan& plan);

// The line at the end.
Summary summary_of(const ColumnsPlan& plan, const ColumnsReport& report);

// The table of --stats, and the object of --stats=json. The facts of the inputs of `plan` must be
// those after the work.
std::string stats_table(const ColumnsPlan& plan, const ColumnsReport& report);
std::string stats_json(const ColumnsPlan& plan, const ColumnsReport& report);

}  // namespace xxl::cli
