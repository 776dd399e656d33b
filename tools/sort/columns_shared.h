// What sorts and joins of columns have in common on the command line: --record=parquet and arrow.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "columns/files/column_source.h"
#include "columns/files/column_target.h"
#include "job/job.h"
#include "job/phase_meter.h"
#include "record/csv_order.h"
#include "report/columns_report.h"
#include "report/job_watch.h"
#include "xxl/columns.h"

namespace xxl::cli {

// Whether --record names files of columns.
bool is_columns(std::string_view record);

// The name of the column, which must be there. `names` are those of `table`. Throws Error{usage}.
std::string resolve_column(const CsvColumn& column, const std::vector<std::string>& names,
                           const std::string& table);

// --part-by, --key and --reverse; there is one at least. Throws Error{usage}.
std::vector<CsvKey> column_key_options(const ParsedOptions& options);
// A sort of `source` by these keys, with -u, --skip and --limit. Row groups of `source` without any
// of the wanted rows are left out. Throws Error.
column_sort_options column_sort_option(const ParsedOptions& options,
                                       const std::vector<CsvKey>& keys, ColumnSource& source);
// The keys that the rows are in the order of. The names are those of `sort`.
std::vector<module_table::SortedBy> sorted_by(const column_sort_options& sort);

// --compression=METHOD[:LEVEL], or what is usual.
struct ColumnCompression {
  std::string text;    // as it was given
  std::string method;  // zstd, ...
  int level = 0;       // 0: the method's default
};

// A stream that is released whatever happens.
struct OwnedStream : ArrowArrayStream {
  OwnedStream() : ArrowArrayStream{} {}
  ~OwnedStream() { end(); }
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;

  void end() {
    if (release != nullptr) release(this);
  }
};

// A sort or join of columns, from the options to the report:
//
//   open() each table -> make_plan() divides the memory -> give_rows(): resources, stream, file
//                                                       -> finish(): checks, and the file appears
//
// A single process calls run(), which takes all steps. Ranks take the steps for their own tables.
class ColumnsJob {
 public:
  // Makes the stream of the result. The streams that it starts are `in`, one for each table.
  using Begin = std::function<void(std::vector<OwnedStream>& in, ArrowArrayStream* out,
                                   const resources& shared)>;
  struct Result {
    std::vector<module_table::SortedBy> sorted_by = {};  // what its rows are in the order of
    bool has_all_rows = false;                           // those that were read, and no others
    // With a number of parts: how many rows there will be, of those that were read; if some are
    // left out beside these, the last parts are smaller.
    std::function<std::uint64_t(std::uint64_t rows_read)> rows_written = {};
    // Of a join, of which only the join itself says that: its rows in any order, which are counted
    // first.
    Begin counted = {};
    std::string part_by = {};  // the column of --part-by
    // Called before the file appears; throws Error if rows are missing.
    std::function<void(std::uint64_t rows_read, std::uint64_t rows_given)> check = {};
  };

  // Reads the options that both have in common, which must outlive it; `count_only`: rows are
  // counted, not written. Throws Error.
  ColumnsJob(const Caller& caller, const ParsedOptions& options, bool count_only);
  // The job of a rank, which has read the options of `job` itself.
  ColumnsJob(const ParsedOptions& options, JobOptions job, bool count_only);

  // Examines a table: the files that `names` stand for. Throws Error.
  ColumnSource& open(const std::vector<std::string>& names);
  bool in_parts() const { return job_.in_parts(); }
  const std::string& part_by() const { return job_.part_by; }
  // What --explain says is filled in by who knows it.
  ColumnsPlan& plan() { return plan_; }
  // What watches and measures the job, for the options of the library. In `Begin`.
  Progress* progress() { return &watch_->progress(); }
  Measurements* measurements() { return &measured_; }
  std::function<FileTraffic()> file_traffic();
  // Of the table that was opened as number `table`; 0 if that is not known.
  std::uint64_t expected_rows(std::size_t table) const;

  // Explains, or does the work and reports. Returns the exit status. Throws Error.
  int run(const Result& result, const Begin& begin);

  // The steps of run(). Sets the target of the rows, instead of the one that the options name.
  void write_to(std::unique_ptr<ColumnTarget> target) { target_ = std::move(target); }
  void make_plan();
  // Makes `rows`, and writes or counts them. After a failure, the caller still owns the stream.
  void give_rows(const Result& result, const Begin& begin, OwnedStream& rows);
  // Checks what was done, and makes the file appear. Returns the number of rows.
  std::uint64_t finish(const Result& result);
  // Extends the library's last phase, "finish", to the end of the job.
  void extend(PhaseReport& last) const { traffic_->extend(last); }

 private:
  module_table::Format output_format() const;
  template <class Work>
  void read_sources(Work&& work);
  void begin_result(const Begin& begin, ArrowArrayStream* out);
  void write(const Result& result, ArrowArrayStream* rows);
  bool counts_first(const Result& result) const;
  void count_first(const Begin& begin);
  std::unique_ptr<ColumnTarget> make_target() const;
  std::uint64_t rows_read() const;
  void check_rows(const Result& result);
  FileTraffic all_file_traffic() const;
  void take_phases(const std::string& prefix);
  void publish();

  const ParsedOptions& options_;
  const bool count_only_;
  JobOptions job_;
  module_table::Format format_;
  ColumnCompression compression_;
  std::string stats_;  // --stats: table, json or nothing
  ColumnsPlan plan_;
  std::vector<std::unique_ptr<ColumnSource>> sources_;
  std::unique_ptr<ColumnTarget> target_;
  std::optional<JobWatch> watch_;
  std::optional<std::uint64_t> counted_rows_;  // if they were counted first
  Measurements measured_;                      // by the library, of the last result
  std::optional<OutsideTraffic> traffic_;
  ColumnsReport report_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace xxl::cli
