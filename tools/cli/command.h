// The subcommands. Each takes its options and returns the exit status; errors are thrown.
#pragma once

#include "cli/parse_options.h"
#include "record/record_format.h"

namespace xxl::cli {

inline constexpr int kExitSuccess = 0;
inline constexpr int kExitDisorder = 1;  // sort -c, validate: something is out of order
inline constexpr int kExitError = 2;
inline constexpr int kExitJoinError = 1;     // of the stand-in for join(1)
inline constexpr int kExitValsortError = 1;  // of the stand-in for valsort

// These parse their arguments themselves: their meaning depends on the records. `command` is sort
// or one of sort_like_commands().
int run_sort(const CommandSpec& command, const Caller& caller,
             std::span<const std::string> arguments);
int run_join(const CommandSpec& command, const Caller& caller,
             std::span<const std::string> arguments);
int run_group(const Caller& caller, ParsedOptions options);
int run_shuf(const Caller& caller, ParsedOptions options);
int run_stand_in_join(const Caller& caller, std::span<const std::string> arguments);
int run_gen(const ParsedOptions& options);
int run_validate(const ParsedOptions& options);
int run_stand_in_valsort(std::span<const std::string> arguments);
int run_probe(const ParsedOptions& options);
int run_info(const ParsedOptions& options);

// What --format may be beside binary records, for messages.
inline constexpr std::string_view kOtherRecords = "lines, csv, tsv, jsonl, parquet, arrow, ";

// Options that several commands have.

// --record (or `fallback`) and --key as a format; `reverse` is -r. Throws Error{usage}.
RecordFormat format_option(const ParsedOptions& options, std::string_view fallback, bool reverse);
// --parallel; 0 when not given.
unsigned parallel_option(const ParsedOptions& options);
// --output; "-" when not given. Throws Error{usage} when two different ones are.
std::string output_option(const ParsedOptions& options);
// Throws Error{usage}: no file has an empty name.
[[noreturn]] void refuse_empty_output(const ParsedOptions& options);

}  // namespace xxl::cli
