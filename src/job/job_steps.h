// How every job runs: its steps, and its attempts. Each attempt relies on less than the one before:
// on inputs that look sorted, on room in memory, on an accelerator that may fail. Nothing is lost
// in between: an attempt is given up before any output has appeared, and the inputs are unchanged.
#pragma once

#include <string>

#include "base/error.h"
#include "io/open_files.h"
#include "job/job.h"

namespace xxl {

// The steps of a job. It has opened its inputs and planned when it is made.
template <class Job>
auto run_steps(Job& job) {
  job.open();     // the output, memory, workers and I/O
  job.form();     // runs of what is not in order, or a table of one side
  job.merge();    // the runs, or joins them, or probes the table: into the output
  job.check();    // that nothing was lost
  job.publish();  // the output, of which nothing has appeared before
  return job.report();
}

// What an attempt relies on, unless the options of the job rule it out.
struct Attempt {
  bool assumes_order = true;  // inputs that look sorted are taken as sorted
  bool in_memory = true;      // what should fit there is sorted there
  bool accelerated = true;    // an accelerator is used as the options say
};

// Thrown by an attempt that relies on what is not so.
struct GivenUp {
  bool Attempt::*reliance;
};

// The options for an attempt.
template <class Options>
Options for_attempt(const Attempt& attempt, Options options) {
  if (!attempt.accelerated) options.acceleration = Acceleration::never;
  return options;
}

// Runs the job of make(attempt). Its may_start_again() says after a failure of the accelerator
// whether that need not be used and nothing has been output. Throws what they throw.
template <class Make>
auto run_attempts(Attempt attempt, Make&& make) {
  const io::StandardInputPlace input;
  std::string failure;
  for (bool again = false;; again = true) {
    if (again) input.restore();
    auto job = make(attempt);
    try {
      auto report = run_steps(job);
      if (!failure.empty()) report.plan.no_accelerator = failure;
      return report;
    } catch (const GivenUp& given_up) {
      attempt.*given_up.reliance = false;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::device || !job.may_start_again()) throw;
      failure = error.what();
      attempt.accelerated = false;
    }
  }
}

}  // namespace xxl
