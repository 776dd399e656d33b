// Joins whose output is a number of parts (docs/internals/parts.md).
//
// How large the output will be must be known when writing begins, and nothing but the join itself
// says it. So it is done twice: the rows of the first time go nowhere.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "io/open_files.h"
#include "job/join/join_options.h"

namespace xxl {

// Throws Error{usage} unless all `inputs` can be read twice: names of files, "-" being standard
// input.
void check_can_be_read_again(std::span<const std::string> inputs);

// `count(options)` gives the report of a join whose rows go nowhere, and what they take;
// `join(options)` does the join with JoinOptions::expected_bytes. Throws what they throw.
template <class Options, class Count, class Join>
JoinReport join_counted_first(const Options& options, Count&& count, Join&& join) {
  check_can_be_read_again(options.inputs);
  const io::StandardInputPlace input;
  Options first = options;
  first.parts = 0;
  std::pair<JoinReport, std::uint64_t> counted = count(std::move(first));
  input.restore();
  Options second = options;
  second.expected_bytes = counted.second;
  JoinReport report = join(second);
  report.seconds += counted.first.seconds;
  for (PhaseReport& phase : counted.first.phases) phase.name = "count: " + phase.name;
  report.phases.insert(report.phases.begin(), counted.first.phases.begin(),
                       counted.first.phases.end());
  return report;
}

}  // namespace xxl
