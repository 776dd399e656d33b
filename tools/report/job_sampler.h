// Watches a job while it runs: what its time line is told of transfers and GPUs, and, looked at by
// a thread of its own, its progress, processors and memory.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread.h"
#include "base/time_line.h"
#include "report/time_buckets.h"
#include "xxl/job.h"

namespace xxl::cli {

// Series of what is looked at. Those of the time line are, for each track and each "what" on it,
// the bytes and, as " busy", the seconds in which at least one interval lasted; {track, "busy"} is
// that of the track as a whole.
namespace series {
inline const TimeBuckets::Name kUser{"processors", "user"};      // seconds
inline const TimeBuckets::Name kSystem{"processors", "system"};  // seconds
inline const TimeBuckets::Name kOthers{"processors", "others"};  // seconds, of other programs
inline const TimeBuckets::Name kSorted{"progress", "done"};      // bytes
inline const TimeBuckets::Name kReadWait{"waits", "read"};       // seconds
inline const TimeBuckets::Name kWriteWait{"waits", "write"};     // seconds
inline const TimeBuckets::Name kMemory{"memory", "resident"};    // bytes, a level
inline const TimeBuckets::Name kScratch{"scratch", "in use"};    // bytes, a level
inline constexpr const char* kBusy = "busy";
}  // namespace series

class JobSampler final : public TimeLine {
 public:
  // From now on. `progress` and `also`, a time line that is told the same (it may be null), must
  // outlive the sampler. Without a thread to be had, it looks at the end only.
  JobSampler(const Progress& progress, TimeLine* also);
  ~JobSampler() override { stop(); }
  JobSampler(const JobSampler&) = delete;
  JobSampler& operator=(const JobSampler&) = delete;

  // `file_bytes`, of what the time line is not told of, called by any thread until stop(), becomes
  // the series {"files", "read"} and
  // {"files", "write"}.
  void watch(std::function<FileTraffic()> file_bytes);

  void add(std::string_view track, const char* what, std::uint64_t start, std::uint64_t end,
           std::uint64_t bytes = 0) noexcept override;

  // Ends it.
  void stop();

  // After stop():
  const TimeBuckets& buckets() const { return buckets_; }
  // Phases as far as progress showed them: names, starts and seconds.
  const std::vector<PhaseReport>& phases() const { return phases_; }
  // What the sampler took of a processor.
  double own_seconds() const { return own_seconds_; }

 private:
  // What is looked at, as it was.
  struct Seen {
    std::uint64_t at = 0;
    double user = 0;
    double system = 0;
    double machine = 0;  // busy, of all its processors
    std::uint64_t done = 0;
    std::uint64_t read_wait_ns = 0;
    std::uint64_t write_wait_ns = 0;
    FileTraffic files;
  };

  void run();
  Seen look() const;
  void sample();
  void note_phase(std::uint64_t at);
  void end_phase(std::uint64_t at);
  void add_busy(const TimeBuckets::Name& name, std::uint64_t start, std::uint64_t end);

  const Progress& progress_;
  TimeLine* const also_;
  std::mutex mutex_;
  std::condition_variable stop_changed_;
  bool stop_ = false;
  TimeBuckets buckets_{TimeLine::now()};
  std::map<TimeBuckets::Name, std::uint64_t> busy_until_;
  std::function<FileTraffic()> file_bytes_;
  Seen first_;
  Seen last_;
  double others_ = 0;  // seconds so far
  std::vector<PhaseReport> phases_;
  Phase phase_ = Phase::starting;
  unsigned pass_ = 0;
  double own_seconds_ = 0;
  Thread thread_;  // last: it starts when all else is there
};

}  // namespace xxl::cli
