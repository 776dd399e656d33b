// What sorting of lines, rows, binary records and columns has in common on the command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/input_files.h"
#include "cli/option_scope.h"
#include "engine/record_sort/external_sort.h"
#include "engine/text_sort/text_sort.h"
#include "record/csv_order.h"
#include "record/fold_kind.h"
#include "report/job_watch.h"
#include "report/sort_report.h"

namespace xxl::cli {

struct LineArguments;

// The kinds of sort. Each returns the exit status.
int sort_lines(const Caller& caller, const LineArguments& arguments);
int sort_rows(const Caller& caller, const ParsedOptions& options);
int sort_binary(const Caller& caller, const ParsedOptions& options);
int sort_columns(const Caller& caller, const ParsedOptions& options);

// What they sort with: from options of sort, or of another command that has some of them.
TextSortOptions line_sort_options(const Caller& caller, const LineArguments& arguments);
TextSortOptions row_sort_options(const Caller& caller, const ParsedOptions& options,
                                 const std::vector<std::string>& inputs);
SortOptions record_sort_options(const Caller& caller, const ParsedOptions& options);
// A sort of binary records as a stable one of records of text of one size.
TextSortOptions text_sort_of(const SortOptions& records);

enum class Check { none, diagnose, quiet };

// -c, -C and --check. Throws Error{usage} if several exclude each other, or other options.
Check check_option(const ParsedOptions& options);
// One of `options` that a check excludes, since it makes no result and no report; without dashes.
std::optional<std::string> excluded_by_check(const ParsedOptions& options);

Backend backend_option(const ParsedOptions& options);
// -T, or the directory that is taken without it.
std::vector<std::string> scratch_option(const ParsedOptions& options);
// Output, memory, scratch directories, threads and I/O.
void set_job_options(const ParsedOptions& options, FileJob& job);
// What -S may be of `given_bytes` (cut_to_machine()). If that is less, a warning says so, after
// `prefix`.
std::uint64_t memory_of_machine(const std::string& prefix, std::uint64_t given_bytes);
// --verify, --parts, --part-bytes and --part-by. Throws Error{usage} if the output is no file, or
// no directory, then.
void set_output_options(const ParsedOptions& options, FileJob& job);
// Throws Error{usage} if the output is called a directory, by a slash, and has no parts.
void refuse_directory_without_parts(const ParsedOptions& options, const FileJob& job);
// `by_default`: whether progress is shown without --progress, if standard error is a terminal.
bool progress_option(const ParsedOptions& options, bool by_default);
// --keep-order. Throws Error{usage} if other options exclude it.
bool keep_order_option(const ParsedOptions& options);
// --sum, --min and the others of FoldKind, in the order of the command line.
std::vector<GivenFold> fold_options(const ParsedOptions& options);
// Keys, separator and folds of rows.
CsvOrder row_order_option(const ParsedOptions& options);
// These and --count, for records of `format`.
RecordFold record_fold_option(const ParsedOptions& options, const RecordFormat& format);
// --skip and --limit.
ResultRange range_option(const ParsedOptions& options);
// --temp-compress=METHOD[:LEVEL].
void set_temp_compression(const ParsedOptions& options, JobOptions& sort);
// Compression of scratch data: that, or --compress-program.
void set_text_compression(const Caller& caller, const ParsedOptions& options,
                          TextSortOptions& sort);
// Fills in what lines and rows have in common beside what is above.
void set_text_options(const Caller& caller, const ParsedOptions& options, TextSortOptions& sort);

// What --report shows of a sort. `report` is null if it has failed; `plan()` makes the plan of it.
template <class Plan>
JobWatch::Texts sort_texts(const ReportSubject& subject, const SortReport* report, Plan&& plan) {
  if (report == nullptr) return {explain(subject, plan())};
  return {explain(subject, report->plan), stats_table(subject, *report), report->plan.threads,
          report->passes};
}

// What reports say of a sort.
ReportSubject subject_of(const TextSortOptions& sort);
ReportSubject subject_of(const SortOptions& sort);

// Plans, sorts and reports (--explain, --stats, --progress); `subject` is for the reports.
int run_record_sort(const Caller& caller, const ParsedOptions& options, SortOptions& sort);
int run_text_sort(const Caller& caller, const ParsedOptions& options, TextSortOptions& sort,
                  const ReportSubject& subject);
// -c and -C.
int run_text_check(const Caller& caller, const TextSortOptions& sort, Check check);

// Returns unless `error` is a pipe without a reader, as in `sort FILE | head`, which is no mistake:
// then SIGPIPE ends the program, unless its parent process ignores that.
void die_of_broken_pipe(const Caller& caller, const Error& error);

void warn_of_fewer_threads(const Caller& caller, std::uint64_t memory_bytes, unsigned parallel,
                           const SortPlan& plan);

}  // namespace xxl::cli
