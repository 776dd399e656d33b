// Measures a join of tables: its table in memory, of a hash join all of it; of one by sorting, the
// sort measures the rest.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "job/phase_meter.h"
#include "xxl/columns.h"

namespace xxl {

class JoinMeter {
 public:
  // What `options` refer to must outlive it.
  explicit JoinMeter(const column_join_options& options)
      : result_(options.measurements), meter_(measured_, job_of(options)) {}
  JoinMeter(const JoinMeter&) = delete;
  JoinMeter& operator=(const JoinMeter&) = delete;

  void begin(Phase phase) { meter_.begin(phase, 0); }
  void advance(std::uint64_t bytes) { meter_.advance(bytes); }
  void end(std::string phase) { meter_.end(std::move(phase)); }

  // A hash join has ended.
  void finish() {
    meter_.finish(nullptr);
    if (result_ != nullptr) *result_ = measured_;
  }
  // A sort has ended, and measured what followed.
  void finish(Measurements sort) {
    if (result_ == nullptr) return;
    sort.phases.insert(sort.phases.begin(), measured_.phases.begin(), measured_.phases.end());
    *result_ = std::move(sort);
  }

 private:
  static JobOptions job_of(const column_join_options& options) {
    JobOptions job;
    job.progress = options.progress;
    job.file_traffic = options.file_traffic;
    return job;
  }

  Measurements* const result_;
  Measurements measured_;
  PhaseMeter meter_;
};

}  // namespace xxl
