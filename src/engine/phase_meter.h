// Measures sorts and joins of every kind: what each phase took, while it runs (Progress) and
// afterwards (Measurements), and checks that nothing was lost.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/checksum.h"
#include "base/workers.h"
#include "engine/job.h"
#include "io/io_queue.h"
#include "io/scratch_store.h"

namespace xxl {

double seconds_since(std::chrono::steady_clock::time_point start);

// Seconds in which nothing could be done but to wait.
struct WaitTimes {
  double read_seconds = 0;
  double write_seconds = 0;
};

// Measures one sort or join, from when the meter is made. One thread.
class PhaseMeter {
 public:
  // What is measured goes to `report`; `progress` may be null. Both must outlive the meter.
  PhaseMeter(Measurements& report, Progress* progress) : report_(report), progress_(progress) {}

  // What is measured from now on; must be called before the first phase. Both must last until the
  // last phase has ended.
  void watch(const io::IoService& io, const Workers& workers) {
    io_ = &io;
    workers_ = &workers;
  }

  // `bytes`: of the phase; 0 if unknown. `pass` of `passes`: of merging, from 1.
  void begin(Phase phase, std::uint64_t bytes, unsigned pass = 0, unsigned passes = 0);
  void end(std::string name, const WaitTimes& waits = {});
  void advance(std::uint64_t bytes) {
    if (progress_ != nullptr) progress_->phase_bytes_done += bytes;
  }

  // Reports the totals. `scratch` may be null.
  void finish(const io::ScratchStore* scratch);

 private:
  using Clock = std::chrono::steady_clock;

  Measurements& report_;
  Progress* progress_;
  const Clock::time_point start_ = Clock::now();
  const io::IoService* io_ = nullptr;
  const Workers* workers_ = nullptr;
  // When the phase began:
  Clock::time_point phase_start_;
  io::QueueStats phase_io_;
  double phase_busy_seconds_ = 0;
};

// Throws Error{corrupt} unless the records written and those left out on purpose, together
// `accounted`, are those of the input. `expected`: number of records of the input, if it is known
// without reading.
void check_permutation(const MultisetHash& input, const MultisetHash& accounted,
                       std::optional<std::uint64_t> expected = std::nullopt);

// Throws Error{corrupt} unless the records of a side (`name`) that were read have all been
// `joined`. `expected`: as above.
void check_joined(const std::string& name, const MultisetHash& input, const MultisetHash& joined,
                  std::optional<std::uint64_t> expected);

}  // namespace xxl
