// The plan and the report of a sort, for people (--explain, --stats) and programs (--stats=json).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/fixed_sort/fixed_sort.h"
#include "report/summary.h"

namespace xxl::cli {

// What was to be sorted.
struct ReportSubject {
  std::vector<std::string> inputs;
  std::string output;
  std::vector<std::string> scratch_dirs;
  std::string record;                  // "u64", "lines"
  std::string record_details;          // "8 bytes, key of 8 bytes"
  std::uint64_t record_bytes = 0;      // 0: of any size
  std::string format = {};             // "csv, as --csv says"
  std::vector<std::string> keys = {};  // key_words()
};

// The plan, one fact a line.
std::string explain(const ReportSubject& subject, const SortPlan& plan);
// The same as an object; its members are described in the manual page (options_of_sort.cc).
std::string explain_json(const ReportSubject& subject, const SortPlan& plan);

// The line at the end.
Summary summary_of(const ReportSubject& subject, const SortReport& report);

// The table of --stats.
std::string stats_table(const ReportSubject& subject, const SortReport& report);

// The object of --stats=json; its members are described in the manual page (options_of_sort.cc).
std::string stats_json(const ReportSubject& subject, const SortReport& report);

}  // namespace xxl::cli
