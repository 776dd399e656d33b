// Runs a job and watches it as the options ask for: --progress, --time-line and --report.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/parse_options.h"
#include "io/output_file.h"
#include "job/job.h"
#include "report/job_page.h"
#include "report/job_sampler.h"
#include "report/progress_line.h"
#include "report/time_line_file.h"

namespace xxl::cli {

class JobWatch {
 public:
  // Sets where `job` and its `means` report to. The output, memory and scratch must be known; both
  // must not be used after the watch has gone. Throws Error if a file cannot be written.
  JobWatch(const Caller& caller, const ParsedOptions& options, FileJob& job, JobMeans& means);

  Progress& progress() { return progress_; }
  // Of files that the engine does not read or write itself.
  void watch_files(std::function<FileTraffic()> file_bytes) {
    if (sampler_) sampler_->watch(std::move(file_bytes));
  }

  // Returns work(), which does the job and returns what was measured of it. `inputs`: names of its
  // files. `describe(report)` returns a page with the plan, facts, threads and passes that are
  // known; after a failure, `report` is null.
  template <class Work, class Describe>
  auto run(const std::vector<std::string>& inputs, bool show_progress, Work&& work,
           Describe&& describe) {
    refuse_inputs(inputs);
    std::optional<ProgressLine> line;
    if (show_progress) line.emplace(progress_);
    try {
      auto report = work();
      line.reset();
      time_line_file_.write();
      write_page(inputs, {}, report.phases, [&] { return describe(&report); });
      return report;
    } catch (const std::exception& error) {
      line.reset();
      write_page(inputs, error.what(), {}, [&] { return describe(null_of(work)); });
      throw;
    }
  }

 private:
  template <class Work>
  static auto null_of(Work& work) -> const decltype(work())* {
    return nullptr;
  }
  void refuse_inputs(const std::vector<std::string>& inputs) const;
  void write_page(const std::vector<std::string>& inputs, const std::string& error,
                  const std::vector<PhaseReport>& phases,
                  const std::function<JobPage()>& describe) noexcept;
  void complete(JobPage& page, const std::vector<std::string>& inputs, const std::string& error,
                const std::vector<PhaseReport>& phases);

  const Caller& caller_;
  const ParsedOptions& options_;
  const FileJob& job_;
  Progress progress_;
  TimeLineFile time_line_file_;
  std::string path_;                    // of the report; empty: none is wanted
  std::optional<io::OutputFile> file_;  // of it
  std::optional<JobSampler> sampler_;
};

}  // namespace xxl::cli
