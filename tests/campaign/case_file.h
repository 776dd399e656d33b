// A case: a job and the machine it runs on, and how it is written down.
//
//   # why it is kept
//   command sort
//   option --record=u64
//   resource --buffer-size=1M
//   input in/a wide 3000 4711
//   target fresh
//   scratch 2
//   machine seed 4711
//   machine fault scratch read eio 3 1 1
//
// An input is path, shape, number of records and seed, and words for what is true of it besides:
// unended, carriage, presorted, stdin, pipe.
#pragma once

#include <string>

#include "job.h"
#include "plan.h"

namespace xxl::campaign {

struct Case {
  Job job;
  Plan plan;
};

std::string write_case(const Case& one);
// Throws std::runtime_error with the line that it does not understand.
Case read_case(const std::string& text);

}  // namespace xxl::campaign
