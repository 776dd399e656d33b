// Sorting files larger than memory.
//
//   xxl::SortJob job;
//   job.inputs = {"numbers.bin"};
//   job.output = "sorted.bin";
//   job.format = "u64";
//   job.memory_bytes = 1 << 30;
//   xxl::sort_files(job);
//
// Sources: Dementiev and Sanders, "Asynchronous Parallel Disk Sorting" (SPAA 2003), sections 3 and
// 4, for the overlap of I/O and computing; Hutchinson, Sanders and Vitter, "Duality between
// prefetching and queued writing with parallel disks" (SIAM J. Comput. 2005), section 4, for the
// order in which blocks are fetched.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "xxl/error.h"
#include "xxl/export.h"
#include "xxl/job.h"
#include "xxl/resources.h"

namespace xxl {

// Records, keys and separators are given as on the command line (xxl sort --help). Members that do
// not apply to the format must keep their default. Otherwise Error{usage} is thrown.
struct SortJob : FileJob {
  std::vector<std::string> inputs;  // "-" is standard input; empty means {"-"}
  // The format: lines, csv, tsv, jsonl, or u32 u64 i32 i64 f32 f64 kv32 kv64 gensort fixed:N.
  std::string format = "lines";
  // Keys in order of significance. Empty: the key of the format.
  // For lines POS1[,POS2] with the letters of sort(1), for rows COLUMN[:TYPE][:desc] (several
  // with commas between; of jsonl, a member like user.id), for fixed-size records
  // OFFSET:TYPE[:desc].
  std::vector<std::string> keys;
  bool unique = false;                 // only the first record of each key
  bool merge_only = false;             // merge the inputs, which are sorted
  bool reverse = false;                // descending, unless a key says otherwise
  std::uint64_t skip = 0;              // leave out the first `skip` records of the result
  std::optional<std::uint64_t> limit;  // then write at most `limit` records
  bool count = false;  // one record for each key, with the number of its records: in front of a
                       // line, as the last column of a row, after a binary record as a u64
  // Aggregates, for one record for each key: FOLD=FIELD.
  // FOLD is sum, min, max, mean, first, last or collect (rows only). For rows, FIELD is COLUMN, or
  // COLUMN:NAME for a new column of that name. For fixed-size records it is OFFSET:TYPE. Examples:
  // "max=price:highest", "last=8:u64".
  std::vector<std::string> aggregates;

  // For lines and rows.
  std::string separator;  // up to 8 bytes; default: blanks, a comma for csv, a tab for tsv
  bool header = false;    // the first record of each input is a header, written once

  // For lines, as in sort(1).
  std::string flags;             // letters of "bdfghiMnRV", for keys without letters of their own
  bool stable = false;           // lines with equal keys keep their order
  bool zero_terminated = false;  // lines end with a zero byte

  // For rows.
  bool empty_last = false;              // empty fields come after all others; otherwise before
  std::vector<std::string> nulls = {};  // texts of fields that count as empty, such as NA
  // One row for each group of rows with equal keys: the columns of the keys, then `aggregates`, and
  // no others, named as in SQL unless the fold has a NAME: shop, sum(price). Without keys, all rows
  // are one group. More: "count", "count-distinct=user", "median=price".
  bool group = false;
  // Malformed rows: error, skip (leave them out and count them), or keep (an
  // unreadable key counts as empty). Default: an error, except that rows with another number of
  // fields than the first one are only counted.
  std::string malformed;
  std::string rejects;  // with skip: CSV file for the rows left out, with file, line and reason
  // With skip: fail if more rows are left out. Default: if more than half of all rows are.
  std::optional<std::uint64_t> max_rejects;
  bool quotes = true;   // fields may be quoted; otherwise quotes are bytes
  std::string escape;   // byte, as a backslash: what follows it is part of the field; or empty
  std::string comment;  // lines before the header that begin so are kept in front of the output
};

// The plan of a sort.
struct SortPlan {
  std::uint64_t input_bytes = 0;        // 0 when unknown
  bool input_size_known = true;         // false: a pipe, or compressed
  std::uint64_t memory_bytes = 0;       // without kMemoryConstantBytes
  std::uint64_t sort_memory_bytes = 0;  // part for records, while runs are formed
  std::uint64_t block_bytes = 0;        // size of a block of a run
  std::uint64_t expected_runs = 0;      // for random input; 1: sorted in memory
  std::uint64_t merge_degree = 0;       // most runs merged at once
  unsigned passes = 0;                  // expected merge passes
  std::uint64_t scratch_bytes = 0;      // scratch space to reserve; with `limit`, at most
  std::uint64_t skip = 0;               // see SortJob::skip
  std::optional<std::uint64_t> limit;   // see SortJob::limit
  unsigned threads = 0;                 // threads that sort and merge
  std::string record_kind;              // key64, generic, ...
  std::string backend;                  // io_uring or threads
  std::string device = "cpu";           // or the name of the GPUs
  std::string no_accelerator;           // reason why no GPU is used, or empty
};

// The report of a sort.
struct SortReport : Measurements, RowFaults {
  SortPlan plan;                                  // see plan_sort
  std::uint64_t records_in = 0;                   // records of all inputs
  std::uint64_t records_out = 0;                  // records written, without a header
  std::uint64_t checksum = 0;                     // multiset hash of the output
  std::uint64_t runs = 0;                         // runs formed, or inputs merged
  std::uint64_t merge_degree = 0;                 // most runs merged at once
  unsigned passes = 0;                            // number of merge passes
  AcceleratorReport accelerator;                  // GPUs used
  std::uint64_t merged_bytes = 0;                 // bytes merged, in all passes
  std::uint64_t merged_on_accelerator_bytes = 0;  // bytes merged on GPUs
  std::string merged_on_cpu_because;  // reason why GPUs did not merge as asked, or empty
};

// The first place at which a file is not in order, or with `unique` not strictly ascending.
struct OrderCheck {
  bool ordered = true;       // the next three members are unset if true
  std::uint64_t record = 0;  // number of the first record out of order, from 0
  std::uint64_t offset = 0;  // its place in the file in bytes, for fixed-size records
  std::string text;          // the record, for lines and rows
  std::vector<std::string> missing_members{};  // RowFaults::missing_members, if in order
};

// The plan of sort_files. Throws Error for bad options, missing files, a file without a whole
// number of records, and too little memory. Writes nothing.
[[nodiscard]] XXL_API SortPlan plan_sort(const SortJob& job);

// Sorts. When it returns, the output is complete, checked and in place. When it throws Error, the
// output does not exist or is unchanged. Exceptions are streams, and a file written in place (see
// Measurements::output_in_place). Lines are compared in the locale of the process. Several jobs may
// run at the same time, each within its own memory.
XXL_API SortReport sort_files(const SortJob& job);
// The same with an equal part of the memory of `shared`, and its other resources. The members of
// the job for these must keep their defaults, or Error{usage} is thrown. Throws Error{no_space} if
// less memory than that is free.
XXL_API SortReport sort_files(const SortJob& job, const resources& shared);

// Checks whether the one file of job.inputs is in order. Writes nothing. Throws Error.
[[nodiscard]] XXL_API OrderCheck check_order(const SortJob& job);

}  // namespace xxl
