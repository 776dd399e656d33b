// What a sort will do and what it did, for people (--explain, --stats) and programs (--stats=json).
#pragma once

#include <string>

#include "pipeline/external_sort.h"

namespace xxl::cli {

// The plan, one fact a line.
std::string explain(const SortOptions& options, const SortPlan& plan);

// The table of --stats.
std::string stats_table(const SortOptions& options, const SortReport& report);

// The object of --stats=json; its members are described in the manual page (options_table.cc).
std::string stats_json(const SortOptions& options, const SortReport& report);

}  // namespace xxl::cli
