// The format of the inputs where the command line does not name one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/parse_options.h"

namespace xxl::cli {

// What the name of a file says of its format, before a suffix of compression: csv, tsv, jsonl,
// parquet or arrow; empty: nothing.
std::string_view format_of_name(std::string_view file);

// Sets --format of a sort or join that was given none, and --header of rows, which have a header
// unless --no-header is given. Without --format:
//
// - a Parquet or Arrow file is known by its suffix or its first bytes;
// - *.csv, *.tsv and *.jsonl are rows if an option was given that lines do not have, and lines if
//   one was given that only lines have. Otherwise, Error{usage} asks for the format: one that was
//   only guessed could be a wrong result.
//
// Changes nothing where the program stands in for sort(1) or join(1).
void resolve_format(const Caller& caller, ParsedOptions& options);

// The format after resolve_format(), how it is known, and whether there is a header.
std::string format_words(const ParsedOptions& options);

// Throws Error{usage} if a file of --files0-from has a name of another format than lines, and no
// option says that it is lines.
void check_listed_files(const ParsedOptions& options, const std::vector<std::string>& files);

}  // namespace xxl::cli
