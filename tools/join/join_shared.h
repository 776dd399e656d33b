// What joins of all kinds of records have in common on the command line.
#pragma once

#include "cli/command.h"
#include "columns/files/column_source.h"
#include "columns/files/module_table.h"
#include "engine/join/join_options.h"
#include "engine/join/record_join_options.h"
#include "engine/join/text_join_options.h"
#include "join/join_arguments.h"
#include "report/job_watch.h"
#include "report/join_report.h"
#include "xxl/columns.h"

namespace xxl::cli {

// The kinds of join. Each returns the exit status.
int join_text(const Caller& caller, const JoinArguments& arguments);
int join_binary(const Caller& caller, const JoinArguments& arguments);
int join_columns(const Caller& caller, const JoinArguments& arguments);

// Throws Error{usage} if R and S cannot both be read, or rows both be counted and written.
void check_inputs(const JoinArguments& arguments);

// --method.
JoinMethod method_option(const ParsedOptions& options);

// Fills in what all joins have in common, but the device. Throws Error{usage}.
void set_join_options(const JoinArguments& arguments, JoinOptions& join);

// Fills in what joins of text have beside. Throws Error{usage}.
void set_text_join(const JoinArguments& arguments, TextJoinOptions& join);
// What joins of binary records have.
void set_binary_join(const JoinArguments& arguments, RecordJoinOptions& join);

// What joins of columns have: first what says no file, then the columns that they are joined by.
// Throws Error{usage}.
column_join_options column_join_option(const JoinArguments& arguments);
void set_key_columns(const ParsedOptions& options, const ColumnSource& r, const ColumnSource& s,
                     column_join_options& join);
// What the rows of a sort-merge join are in the order of: names are those of `join`.
std::vector<module_table::SortedBy> sorted_by(const column_join_options& join);

// The keys of a side: those of --key and of --key1 or --key2; `side` is 0 or 1.
std::vector<std::string> key_specs(const ParsedOptions& options, std::size_t side);

// Plans, joins and reports (--explain, --stats, --progress, --count).
struct JoinRunner {
  std::function<JoinPlan()> plan;
  std::function<JoinReport()> join;
};
int run_join_reports(const Caller& caller, const JoinArguments& arguments, const JoinOptions& join,
                     const JoinSubject& subject, JobWatch& watch, const JoinRunner& runner);

}  // namespace xxl::cli
