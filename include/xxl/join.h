// Joining two files of any size, in any order. (Records of a program: xxl/join_sorted.h.)
//
//   xxl::JoinJob job;
//   job.inputs = {"users.csv", "orders.csv"};
//   job.formats = {"csv", "csv"};
//   job.left_on = {"id:integer"};
//   job.right_on = {"user:integer"};
//   job.header = true;
//   job.how = xxl::JoinKind::left;
//   job.output = "joined.csv";
//   xxl::join_files(job);
//
// Sources: Maltenberger, "Efficiently Joining Large Relations on Multi-GPU Systems with Modern
// Interconnects" (2024), section 3.3, for the join of sorted streams; Lutz et al., "Pump Up the
// Volume" (SIGMOD 2020), section 5, for the hash join.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "xxl/error.h"
#include "xxl/export.h"
#include "xxl/job.h"
#include "xxl/join_kind.h"
#include "xxl/resources.h"

namespace xxl {

// Records, keys and separators are given as on the command line (xxl join --help). Members that do
// not apply to the format must keep their default. Otherwise Error{usage} is thrown.
struct JoinJob : FileJob {
  std::array<std::string, kJoinSides> inputs;  // left and right; one may be "-", standard input
  // The formats: both lines, both csv or both tsv, or fixed-size records as in SortJob.
  std::array<std::string, kJoinSides> formats = {"lines", "lines"};
  // The keys of the left and of the right input, in order of significance. Both sides have as many,
  // of the same types. For lines a key is the number of a field, from 1 (default: the first field).
  // For CSV and TSV it is COLUMN[:TYPE][:desc], and required. For records of fixed sizes it is
  // OFFSET:TYPE[:desc] (default: the key that belongs to the record).
  std::vector<std::string> left_on;
  std::vector<std::string> right_on;  // likewise
  // The rows to write.
  JoinKind how = JoinKind::inner;
  // The method of the join.
  JoinMethod method = JoinMethod::automatic;
  std::array<bool, kJoinSides> presorted{};  // whether an input is sorted: checked, not sorted
  bool count_only = false;                   // count rows, and write nothing
  // The fields of a row. For lines, join(1)'s list of fields: 0 (the key), 1.FIELD, 2.FIELD,
  // separated by commas, or auto. For records of fixed sizes: 0, 1.OFFSET:BYTES, 2.OFFSET:BYTES,
  // m. One byte m is 1 if the row has a left record, plus 2 if it has a right one. Default: the key
  // once, then the rest of the left and of the right record. Semi and anti joins: the record.
  std::string layout;

  // For lines and rows.
  std::string separator;              // see SortJob
  std::optional<std::string> filler;  // written in place of missing and empty fields
  bool header = false;                // the first record of each input is a header
  bool empty_keys_match = true;       // false: they match nothing, as NULL in SQL

  // For lines, as in join(1).
  bool ignore_case = false;
  bool zero_terminated = false;

  // For rows.
  std::vector<std::string> nulls = {};  // texts of fields that count as empty, such as NA
  // See SortJob. With keep, a row that cannot be joined is an error.
  std::string malformed;
  std::string rejects;                       // see SortJob; one file for both inputs
  std::optional<std::uint64_t> max_rejects;  // see SortJob; limit for each input
  bool quotes = true;   // fields may be quoted; otherwise quotes are bytes, and each line is a row
  std::string escape;   // byte, as a backslash: what follows it is part of the field; or empty
  std::string comment;  // lines before the header that begin so are kept in front of the output
  // Suffixes of column names that both sides have.
  std::array<std::string, kJoinSides> suffixes = {"_1", "_2"};
};

// The plan of a join.
struct JoinPlan {
  // The plan for one input.
  struct Side {
    std::uint64_t input_bytes = 0;  // 0 when unknown
    // False for pipes and compressed files.
    bool size_known = true;
    bool presorted = false;           // in order already: not sorted
    std::uint64_t expected_runs = 0;  // sorted runs; 0 if it is not sorted
    unsigned passes = 0;              // merge passes before the join
    // Scratch space to reserve.
    std::uint64_t scratch_bytes = 0;
    std::string device = "cpu";  // device that sorts it
  };
  // Left and right.
  std::array<Side, kJoinSides> sides;
  JoinMethod method = JoinMethod::sort_merge;  // never automatic
  JoinSide build = JoinSide::r;                // hash: the input held in memory
  std::string because;                         // reason for this method
  // Without kMemoryConstantBytes.
  std::uint64_t memory_bytes = 0;
  std::uint64_t table_bytes = 0;   // hash: size of the table with its records
  std::uint64_t output_bytes = 0;  // size of a row; 0 for rows of any length
  // Threads that sort, merge and join.
  unsigned threads = 0;
  std::string backend;         // io_uring or threads
  std::string no_accelerator;  // reason why no GPU is used, or empty
};

// The report of a join.
struct JoinReport : Measurements {
  // See plan_join.
  JoinPlan plan;
  // The report for one input.
  struct Side : RowFaults {
    // Number of records read.
    std::uint64_t records = 0;
    std::uint64_t matched = 0;  // number of records with a match
    // Number of sorted runs.
    std::uint64_t runs = 0;
    // Number of merge passes before the join.
    unsigned passes = 0;
  };
  // Left and right.
  std::array<Side, kJoinSides> sides;
  std::uint64_t rows = 0;  // number of rows written or counted
  // Size of the output.
  std::uint64_t bytes_written = 0;
  std::uint64_t checksum = 0;       // multiset hash of the rows
  std::uint64_t spilled_bytes = 0;  // bytes of keys with too many records for the memory
  // The GPUs used.
  AcceleratorReport accelerator;
};

// The plan of join_files. Throws Error for bad options, missing files, a file without a whole
// number of records, and too little memory. Writes nothing, except for an unnamed file in a scratch
// directory that measures the speed of its disk.
[[nodiscard]] XXL_API JoinPlan plan_join(const JoinJob& job);

// Joins. When it returns, the output is complete, checked and in place. When it throws Error, the
// output does not exist or is unchanged. The exceptions are those of sort_files. Lines are compared
// in the locale of the process.
XXL_API JoinReport join_files(const JoinJob& job);
// The same with an equal part of `shared`: see sort_files.
XXL_API JoinReport join_files(const JoinJob& job, const resources& shared);

}  // namespace xxl
