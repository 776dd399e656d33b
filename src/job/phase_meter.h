// Measures sorts and joins of every kind: what each phase took, while it runs (Progress) and
// afterwards (Measurements), and checks that nothing was lost.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/checksum.h"
#include "base/workers.h"
#include "io/io_queue.h"
#include "io/scratch_store.h"
#include "job/job.h"

namespace xxl {

double seconds_since(std::chrono::steady_clock::time_point start);

// Times in which nothing could be done but to wait.
class WaitTimes {
 public:
  // `progress` is told of them; may be null.
  explicit WaitTimes(Progress* progress = nullptr) : progress_(progress) {}

  // A wait for a read, or for a write, since `start` until now.
  void add_read(std::chrono::steady_clock::time_point start) {
    add(start, read_, progress_ != nullptr ? &progress_->read_wait_ns : nullptr);
  }
  void add_write(std::chrono::steady_clock::time_point start) {
    add(start, write_, progress_ != nullptr ? &progress_->write_wait_ns : nullptr);
  }

  double read_seconds() const { return std::chrono::duration<double>(read_).count(); }
  double write_seconds() const { return std::chrono::duration<double>(write_).count(); }

 private:
  using Clock = std::chrono::steady_clock;

  static void add(Clock::time_point start, Clock::duration& sum,
                  std::atomic<std::uint64_t>* progress) {
    const Clock::duration time = Clock::now() - start;
    sum += time;
    if (progress != nullptr)
      *progress += static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
  }

  Progress* progress_;
  Clock::duration read_{};
  Clock::duration write_{};
};

// Measures one sort or join, from when the meter is made. One thread.
class PhaseMeter {
 public:
  // What is measured goes to `report`, which must outlive the meter, as must the progress of `job`.
  PhaseMeter(Measurements& report, const JobOptions& job)
      : report_(report), progress_(job.progress), file_traffic_(job.file_traffic) {}

  // What is measured from now on, if it is called before the first phase. Both must last until the
  // last phase has ended.
  void watch(const io::IoService& io, const Workers& workers) {
    io_ = &io;
    workers_ = &workers;
  }

  // `bytes`: of the phase; 0 if unknown. `pass` of `passes`: of merging, from 1.
  void begin(Phase phase, std::uint64_t bytes, unsigned pass = 0, unsigned passes = 0);
  void end(std::string name, const WaitTimes& waits = WaitTimes());
  // Of a phase, before any.
  WaitTimes no_waits() const { return WaitTimes(progress_); }
  void advance(std::uint64_t bytes) {
    if (progress_ != nullptr) progress_->phase_bytes_done += bytes;
  }

  // Reports the totals. `scratch` may be null.
  void finish(const io::ScratchStore* scratch);

 private:
  using Clock = std::chrono::steady_clock;

  io::QueueStats io_stats() const { return io_ != nullptr ? io_->stats() : io::QueueStats(); }
  double busy_seconds() const { return workers_ != nullptr ? workers_->busy_seconds() : 0; }

  Measurements& report_;
  Progress* progress_;
  const std::function<FileTraffic()> file_traffic_;  // may be empty
  const Clock::time_point start_ = Clock::now();
  const io::IoService* io_ = nullptr;
  const Workers* workers_ = nullptr;
  // When the phase began:
  Clock::time_point phase_start_;
  io::QueueStats phase_io_;
  double phase_busy_seconds_ = 0;
  FileTraffic counted_;  // of files of others, in the phases before
};

// What `file_traffic` counts from now on; it may be empty.
std::function<FileTraffic()> from_now(std::function<FileTraffic()> file_traffic);

// Files that are read and written beside a job for it, also when it has ended.
class OutsideTraffic {
 public:
  // `all`: so far, from any thread. What was before does not count.
  explicit OutsideTraffic(std::function<FileTraffic()> all) : all_(from_now(std::move(all))) {}

  // For JobMeans::file_traffic.
  FileTraffic tell() {
    const FileTraffic now = all_();
    told_read_ = now.read;
    told_written_ = now.written;
    return now;
  }
  // The last phase of the job goes on until now.
  void extend(PhaseReport& last) const;

 private:
  const std::function<FileTraffic()> all_;
  std::atomic<std::uint64_t> told_read_ = 0, told_written_ = 0;
};

// Most memory that this process had so far.
std::uint64_t peak_memory_bytes();

// What to do when records were lost.
inline constexpr std::string_view kCheckMachine = "check this machine's memory and disks";

// Throws Error{corrupt} unless the records written and those left out on purpose, together
// `accounted`, are those of the input. `expected`: number of records of the input, if it is known
// without reading. `advice`: what to do.
void check_permutation(const MultisetHash& input, const MultisetHash& accounted,
                       std::optional<std::uint64_t> expected = std::nullopt,
                       std::string_view advice = kCheckMachine);

// Throws Error{corrupt} of what was read back of the output `path`: record number `record` (from
// 0), at `offset`, is out of order; or not all records are `expected`.
[[noreturn]] void throw_not_in_order(const std::string& path, std::uint64_t record,
                                     std::uint64_t offset);
void check_read_back(const std::string& path, const MultisetHash& read,
                     const MultisetHash& expected);

// Throws Error{corrupt} unless the records of a side (`name`) that were read have all been
// `joined`. `expected`: as above.
void check_joined(const std::string& name, const MultisetHash& input, const MultisetHash& joined,
                  std::optional<std::uint64_t> expected);

}  // namespace xxl
