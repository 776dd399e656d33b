// Sorting files larger than memory.
//
//   xxl::SortJob job;
//   job.inputs = {"numbers.bin"};
//   job.output = "sorted.bin";
//   job.record = "u64";
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
// not apply to the kind of record must keep their default, else Error{usage}.
struct SortJob : FileJob {
  std::vector<std::string> inputs;  // "-" is standard input; none means {"-"}
  // lines; csv or tsv; or of a fixed size: u32 u64 i32 i64 f32 f64 kv32 kv64 gensort fixed:N.
  std::string record = "lines";
  // In order of significance; none: the key that belongs to the record. Of lines POS1[,POS2] with
  // the letters of sort(1), of rows COLUMN[:TYPE][:desc], of records of a fixed size
  // OFFSET:TYPE[:desc].
  std::vector<std::string> keys;
  bool unique = false;                 // the first of the records with equal keys
  bool merge_only = false;             // the inputs are sorted: merge them
  bool reverse = false;                // descending, where a key does not say otherwise
  std::uint64_t skip = 0;              // the first `skip` records of the output are left out
  std::optional<std::uint64_t> limit;  // of the others, only the first `limit`
  bool count = false;  // one record for each key, with the number of its records: in front of a
                       // line, as the last column of a row, after a record as a little-endian u64
  // One record for each key, with what the options of the command line make of all of its records:
  // FOLD=FIELD, FOLD one of sum, min, max, mean, first, last, collect (of rows). FIELD is of rows
  // COLUMN, or COLUMN:NAME for a new column of that name, of records of a fixed size OFFSET:TYPE:
  // "max=price:highest", "last=8:u64".
  std::vector<std::string> folds;
  std::vector<std::string> sums;  // FIELDs of sum, in front of `folds`

  // Of text.
  std::string field_separator;  // a byte, or of lines a character of UTF-8; empty: blanks of
                                // lines, a comma of csv, a tab of tsv
  bool header = false;          // the first record of each input: written once, in front

  // Of lines, as in sort(1).
  std::string flags;             // letters of "bdfghiMnRV", for keys without letters of their own
  bool stable = false;           // equal keys stay in order, not by the whole line
  bool zero_terminated = false;  // lines end with a zero byte

  // Of rows.
  bool empty_last = false;  // empty fields come after all others; otherwise before
  // Where rows go with no number or date in a key of that type: error (they are malformed), first,
  // or last; behind empty ones of that end, by the text of the field.
  std::string invalid = "error";
  bool skip_malformed = false;  // leave malformed rows out and count them; otherwise an error
  bool quotes = true;           // of fields; otherwise they are bytes, and each line is a row
};

// What will be done, before it is done.
struct SortPlan {
  std::uint64_t input_bytes = 0;        // 0 when unknown
  bool input_size_known = true;         // false: a pipe, or compressed
  std::uint64_t memory_bytes = 0;       // beside kMemoryConstantBytes
  std::uint64_t sort_memory_bytes = 0;  // of which for records, while runs are formed
  std::uint64_t block_bytes = 0;        // of a run
  std::uint64_t expected_runs = 0;      // on random input; 1: sorted in memory, no scratch
  std::uint64_t merge_degree = 0;       // runs merged at once
  unsigned passes = 0;                  // merge passes expected; 0: none
  std::uint64_t scratch_bytes = 0;  // in the scratch directories: reserved, or with `limit` at most
  std::uint64_t skip = 0;           // the first `skip` records are not written
  std::optional<std::uint64_t> limit;  // of the others, only the first `limit` are
  unsigned threads = 0;                // that sort and merge
  std::string record_kind;             // key64, generic, ...
  std::string backend;                 // io_uring or threads
  std::string device = "cpu";          // or the accelerator's name
  std::string no_accelerator;          // why it is not used, if it could have been
};

// What was done.
struct SortReport : Measurements {
  SortPlan plan;                                  // as of plan_sort
  std::uint64_t records_in = 0;                   // of all inputs
  std::uint64_t records_out = 0;                  // a header not counted
  std::uint64_t skipped = 0;                      // malformed records left out (text)
  std::uint64_t checksum = 0;                     // multiset hash of the output
  std::uint64_t runs = 0;                         // formed, or given to be merged
  std::uint64_t merge_degree = 0;                 // largest used
  unsigned passes = 0;                            // merge passes done
  AcceleratorReport accelerator;                  // no devices if none was used
  std::uint64_t merged_bytes = 0;                 // of all merge passes
  std::uint64_t merged_on_accelerator_bytes = 0;  // of them
  std::string merged_on_cpu_because;  // why the accelerator did not merge as asked; or empty
};

// First place where a file is not in order (with `unique`: not strictly ascending).
struct OrderCheck {
  bool ordered = true;       // no such place: the others say nothing
  std::uint64_t record = 0;  // number, from 0, of the first record that is out of order
  std::uint64_t offset = 0;  // of records of a fixed size: its place in the file, in bytes
  std::string text;          // of text: the record
};

// What sort_files would do. Throws Error for bad options, missing files, a file that is not a whole
// number of records, and a budget that is too small, all before anything is written.
XXL_API SortPlan plan_sort(const SortJob& job);

// Sorts. When it returns, the output is complete, checked and in place; when it throws Error, the
// output does not exist or is what it was before (but for streams, and for a file that was being
// written in place, see Measurements::output_in_place). Lines are compared in the locale that the
// process has. Several jobs may run at the same time, each within its own memory.
XXL_API SortReport sort_files(const SortJob& job);
// The same with an equal part of the memory of `shared`, and all else that it has: the job's own
// members for these must keep their defaults, else Error{usage}. Throws Error{no_space} if less
// memory than that is free.
XXL_API SortReport sort_files(const SortJob& job, const resources& shared);

// Whether job.inputs, which has one file, is in order. Writes nothing. Throws Error.
XXL_API OrderCheck check_order(const SortJob& job);

}  // namespace xxl
