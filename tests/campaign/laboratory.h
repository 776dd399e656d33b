// Where jobs are run: the directories of one worker, in which the same job is the same each time.
#pragma once

#include <string>
#include <vector>

#include "case_file.h"
#include "promises.h"
#include "reference.h"

namespace xxl::campaign {

struct Settings {
  std::string xxl;      // the program
  std::string machine;  // the library; empty: the machine we are on
  std::string work;     // directory of all workers
  std::string tables;   // xxl-campaign-tables; empty: no jobs of columns
};

class Laboratory {
 public:
  // Workers have numbers below 100: names of the same length. Throws std::system_error and the
  // like.
  Laboratory(const Settings& settings, unsigned worker);

  bool has_tables() const { return !settings_.tables.empty(); }
  bool has_machine() const { return !settings_.machine.empty(); }

  // Makes inputs and reference of a job, for the runs that follow.
  void prepare(const Job& job);
  // Runs it; what it returns refers to the job, and the next prepare() ends that.
  Run run(const Plan& plan);

  // Both, and the checks. With `repeats` more than one, also whether all were the same.
  std::vector<Broken> test(const Case& one, unsigned repeats = 1);

  // What was run last, for a shell; without LD_PRELOAD the same without a machine.
  std::string command_line() const;

 private:
  std::string validate_parts() const;
  std::string content_of_output(const Tree& after, const std::string& printed) const;

  Settings settings_;
  std::string directory_;  // of the job
  std::string beside_;     // of plan and report
  Tools tools_;
  Tree old_parts_;  // of Target::replaced_parts
  Job job_;
  Expected expected_;
  Tree before_;
};

}  // namespace xxl::campaign
