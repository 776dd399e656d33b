// Sorts of lines, rows, binary records and columns on the command line: what they have in common.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "cli/command.h"
#include "cli/input_files.h"
#include "cli/option_scope.h"
#include "job/files/job_spec.h"
#include "record/fold_kind.h"

namespace xxl::cli {

struct LineArguments;

// The sorts that read their options themselves. Each returns the exit status.
int sort_lines(const Caller& caller, const LineArguments& arguments);
int sort_columns(const Caller& caller, const ParsedOptions& options);

// The job that the options describe: those of sort, or of a command with some of them.
SortSpec line_sort_spec(const Caller& caller, const LineArguments& arguments);
SortSpec sort_spec(const Caller& caller, const ParsedOptions& options);  // of rows, binary records
// Sets the kind of records, keys, folds and the range of the result.
void set_records(const ParsedOptions& options, SortSpec& spec);

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
// --malformed, --rejects and --max-rejects. `Job`: SortJob or JoinJob.
template <class Job>
void set_malformed(const ParsedOptions& options, Job& job) {
  if (options.has("malformed")) job.malformed = options.word("malformed", "error");
  if (!options.knows("rejects")) return;
  job.rejects = options.value("rejects", "");
  if (options.has("max-rejects")) {
    job.max_rejects = parse_count(options.value("max-rejects", ""), "--max-rejects");
  }
}
// --quote, --escape and --comment.
template <class Job>
void set_field_syntax(const ParsedOptions& options, Job& job) {
  job.quotes = options.word("quote", "double") == "double";
  job.escape = options.value("escape", "");
  job.comment = options.value("comment", "");
}

// Says how many malformed rows there were, if any, as `malformed` (SortJob) treated them, and what
// else is wrong with rows. `whose_comments`: which file's are kept.
void warn_of_rows(const Caller& caller, const RowFaults& rows, const std::string& malformed,
                  const char* whose_comments = "first");

// --skip and --limit.
ResultRange range_option(const ParsedOptions& options);
// --temp-compress=METHOD[:LEVEL].
void set_temp_compression(const ParsedOptions& options, FileJob& job);
// Compression of scratch data: that, or --compress-program.
void set_compression(const Caller& caller, const ParsedOptions& options, SortSpec& spec);

// Plans, sorts and reports (--explain, --stats, --progress). `shown_output`: the name of the output
// in reports; empty: that of `spec`.
int run_sort_job(const Caller& caller, const ParsedOptions& options, SortSpec spec,
                 const std::string& shown_output = {});
// -c and -C.
int run_check(const Caller& caller, const SortSpec& spec, Check check);

// Returns unless `error` is a pipe without a reader, as in `sort FILE | head`, which is no mistake:
// then SIGPIPE ends the program, unless its parent process ignores that.
void die_of_broken_pipe(const Caller& caller, const Error& error);

}  // namespace xxl::cli
