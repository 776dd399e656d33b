// What joins of all kinds of records have in common on the command line.
#pragma once

#include "cli/command.h"
#include "columns/files/column_source.h"
#include "columns/files/module_table.h"
#include "job/files/job_spec.h"
#include "job/files/text_kind.h"
#include "join/join_arguments.h"
#include "xxl/columns.h"

namespace xxl::cli {

// Joins by kinds of records. Each returns the exit status.
int join_files(const Caller& caller, const JoinArguments& arguments, TextKind kind);
int join_columns(const Caller& caller, const JoinArguments& arguments);

// Throws Error{usage} if the inputs cannot both be read, or rows both be counted and written.
void check_inputs(const JoinArguments& arguments);

// --how. right-semi and right-anti are semi and anti with the sides swapped. Throws Error{usage}.
JoinKind how_option(const ParsedOptions& options);
bool swaps_sides(const ParsedOptions& options);

// --method.
JoinMethod method_option(const ParsedOptions& options);

// Fills in what all joins have in common, except the device. Throws Error{usage}.
void set_join_options(const JoinArguments& arguments, JoinSpec& join);
// Fills in the records and keys of both sides, and the layout of rows; then the sides of `join` are
// swapped if swaps_sides(). Throws Error{usage}.
void set_records(const JoinArguments& arguments, TextKind kind, JoinSpec& join);

// What joins of columns have: first what says no file, then the columns that they are joined by.
// Throws Error{usage}.
column_join_options column_join_option(const JoinArguments& arguments);
void set_key_columns(const JoinArguments& arguments, const ColumnSource& left,
                     const ColumnSource& right, column_join_options& join);
// What the rows of a sort-merge join are in the order of: names are those of `join`.
std::vector<module_table::SortedBy> sorted_by(const column_join_options& join);

// The keys of a side, 0 or 1: those of --on, of --left-on or --right-on, or of -1, -2 and -j.
// Throws Error{usage}.
std::vector<std::string> key_specs(const JoinArguments& arguments, std::size_t side);

}  // namespace xxl::cli
