// What the program promises, and whether a run kept it. What each fault may lead to is a table
// (promises.cc); there is no other place that knows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "job.h"
#include "plan.h"
#include "process.h"
#include "reference.h"
#include "tree.h"

namespace xxl::campaign {

enum class Promise {
  ends,        // it does not hang, and no signal ends it
  output,      // after exit 0 the output is what the reference says
  status,      // the exit status is right
  old_output,  // after another exit the old output is as it was, or the new one whole
  message,     // one line says which file and why; after exit 0 none
  inputs,      // inputs are as they were
  leftovers,   // no scratch and no temporary names remain
  closed,      // no file is left open and no thread runs
  memory,      // it stays below -S and what it may have beside that
  repeats,     // the same seed does the same
};
inline constexpr Promise kPromises[] = {
    Promise::ends,   Promise::output,    Promise::status, Promise::old_output, Promise::message,
    Promise::inputs, Promise::leftovers, Promise::closed, Promise::memory,     Promise::repeats};

std::string_view name_of(Promise promise);

// One that was not kept.
struct Broken {
  Promise promise;
  std::string how;
};

// All there is to see of a run.
struct Run {
  const Job& job;
  const Plan& plan;
  const Expected& expected;
  Tree before;  // files below the directory of the job
  Tree after;
  Ended ended;
  std::string found;           // the content of the output; of parts, of all of them
  Report report;               // empty without a machine
  std::string manifest_error;  // of parts that appeared: what `xxl validate` says against them
};

std::vector<Broken> check(const Run& run);
// Whether the same run again did the same.
std::vector<Broken> check_repeated(const Run& first, const Run& again);

// Whether that fault may be drawn for the job: the program says nothing of others.
bool may_strike(const Job& job, const Fault& fault);

// What is drawn: each role and operation with the effects it can have.
struct FaultKind {
  std::string_view role;
  std::string_view operation;
  std::string_view effect;
};
std::vector<FaultKind> fault_kinds(const Job& job);

}  // namespace xxl::campaign
