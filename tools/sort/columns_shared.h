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
#include <vector>

#include "cli/command.h"
#include "columns/files/column_source.h"
#include "columns/files/column_target.h"
#include "engine/job.h"
#include "engine/phase_meter.h"
#include "record/csv_order.h"
#include "report/columns_report.h"
#include "report/job_watch.h"
#include "xxl/columns.h"

namespace xxl::cli {

// Whether --record names files of columns.
bool is_columns(std::string_view record);

// COLUMN[:desc|:asc][:nulls-first|:nulls-last]
struct ColumnKeyOption {
  CsvColumn column;
  bool descending = false;
  bool nulls_first = false;
};

// `descending`: without a direction. Throws Error{usage}.
ColumnKeyOption parse_column_key(std::string_view spec, bool descending);
// The name of the column, which must be there. `names` are those of `table`. Throws Error{usage}.
std::string resolve_column(const CsvColumn& column, const std::vector<std::string>& names,
                           const std::string& table);

// Of the files of --record.
module_table::Format column_format(std::string_view record);

// What readers of Parquet expect, and Arrow's writers make.
inline constexpr std::uint64_t kRowGroupRows = std::uint64_t{1} << 20;

// --compression=METHOD[:LEVEL], or what is usual.
struct ColumnCompression {
  std::string text;    // as it was given
  std::string method;  // zstd, ...
  int level = 0;       // 0: the method's default
};

// Throws Error{usage} unless files of `format` can be compressed so.
ColumnCompression compression_option(const ParsedOptions& options, module_table::Format format);

// What jobs of columns work with: `memory_bytes` of what `job` has, and `threads`.
resources resources_of_columns(const JobOptions& job, std::uint64_t memory_bytes, unsigned threads);

// Throws Error{corrupt} if rows that the source has were not read.
void check_rows_read(const module_table::SourceFacts& facts);

// Of a join whose rows are not wanted. Throws Error{io} with what the stream reports.
std::uint64_t count_rows(ArrowArrayStream* rows);

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
//   open() each table -> make_plan() divides the memory -> run(): resources, stream, file
class ColumnsJob {
 public:
  // Makes the stream of the result. The streams that it starts are `in`, one for each table.
  using Begin = std::function<void(std::vector<ArrowArrayStream>& in, ArrowArrayStream* out,
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
  };

  // Reads the options that both have in common, which must outlive it; `count_only`: rows are
  // counted, not written. Throws Error.
  ColumnsJob(const Caller& caller, const ParsedOptions& options, bool count_only);

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

 private:
  void make_plan();
  module_table::Format output_format() const;
  void work(const Result& result, const Begin& begin);
  void explain() const;
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
  void measure();
  void report() const;

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
