// The plan and the report of a join, for people (--explain, --stats) and programs (--stats=json).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "job/join/join_options.h"
#include "report/summary.h"

namespace xxl::cli {

// What was to be joined.
struct JoinSubject {
  std::array<std::string, kJoinSides> inputs;
  std::array<std::string, kJoinSides> records;  // "lines"; "kv64, 16 bytes, key of 8 bytes"
  std::string kind;                             // "left"
  std::string output;                           // empty: rows are only counted
  std::vector<std::string> scratch_dirs;
};

// The plan, one fact a line.
std::string explain(const JoinSubject& subject, const JoinPlan& plan);
// The same as an object; its members are described in the manual page (options_of_join.cc).
std::string explain_json(const JoinSubject& subject, const JoinPlan& plan);

// The line at the end.
Summary summary_of(const JoinSubject& subject, const JoinReport& report);

// The table of --stats.
std::string stats_table(const JoinSubject& subject, const JoinReport& report);

// The object of --stats=json; its members are described in the manual page (options_of_join.cc).
std::string stats_json(const JoinSubject& subject, const JoinReport& report);

}  // namespace xxl::cli
