#include "job/phase_meter.h"

#include <sys/resource.h>

#include <fstream>
#include <utility>

#include "base/error.h"
#include "base/units.h"

namespace xxl {

// The figure of getrusage() may be that of the process before exec(), which was its parent's.
std::uint64_t peak_memory_bytes() {
  std::ifstream status("/proc/self/status");
  std::uint64_t kibibytes = 0;
  for (std::string field; status >> field;) {
    if (field == "VmHWM:" && status >> kibibytes) return kibibytes * kKiB;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * kKiB;
}

std::function<FileTraffic()> from_now(std::function<FileTraffic()> file_traffic) {
  if (!file_traffic) return {};
  return [file_traffic, before = file_traffic()] {
    const FileTraffic now = file_traffic();
    return FileTraffic{now.read - before.read, now.written - before.written};
  };
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void OutsideTraffic::extend(PhaseReport& last) const {
  const FileTraffic now = all_();
  last.seconds = seconds_since(last.start);
  last.bytes_read += now.read - told_read_;
  last.bytes_written += now.written - told_written_;
}

void PhaseMeter::begin(Phase phase, std::uint64_t bytes, unsigned pass, unsigned passes) {
  phase_start_ = Clock::now();
  phase_io_ = io_stats();
  phase_busy_seconds_ = busy_seconds();
  if (progress_ == nullptr) return;
  progress_->phase_bytes_done = 0;
  progress_->phase_bytes_total = bytes;
  progress_->pass = pass;
  progress_->passes = passes;
  progress_->phase = phase;
}

void PhaseMeter::end(std::string name, const WaitTimes& waits) {
  const io::QueueStats io = io_stats();
  const FileTraffic files = file_traffic_ ? file_traffic_() : FileTraffic();
  PhaseReport phase;
  phase.name = std::move(name);
  phase.start = phase_start_;
  phase.seconds = seconds_since(phase_start_);
  phase.bytes_read = io.bytes_read - phase_io_.bytes_read + files.read - counted_.read;
  phase.bytes_written =
      io.bytes_written - phase_io_.bytes_written + files.written - counted_.written;
  phase.read_wait_seconds = waits.read_seconds();
  phase.write_wait_seconds = waits.write_seconds();
  phase.worker_busy_seconds = busy_seconds() - phase_busy_seconds_;
  counted_ = files;
  report_.phases.push_back(std::move(phase));
}

void PhaseMeter::finish(const io::ScratchStore* scratch) {
  if (scratch != nullptr) {
    report_.scratch_bytes = scratch->peak_bytes();
    for (unsigned disk = 0; disk < scratch->disks(); ++disk) {
      report_.scratch_bytes_written_per_dir.push_back(scratch->allocated_bytes(disk));
    }
  }
  report_.seconds = seconds_since(start_);
  report_.peak_memory_bytes = peak_memory_bytes();
}

void check_permutation(const MultisetHash& input, const MultisetHash& accounted,
                       std::optional<std::uint64_t> expected, std::string_view advice) {
  if (accounted == input && input.records == expected.value_or(input.records)) return;
  throw Error(ErrorCode::corrupt,
              "the output is not a permutation of the input (" + std::to_string(accounted.records) +
                  " of " + std::to_string(expected.value_or(input.records)) +
                  " records, or their checksum): it was discarded; " + std::string(advice));
}

void throw_not_in_order(const std::string& path, std::uint64_t record, std::uint64_t offset) {
  throw Error(ErrorCode::corrupt,
              "record " + std::to_string(record + 1) +
                  ", as it is read back, is not in order: the output was discarded; check this "
                  "machine's memory and disks",
              path, offset);
}

void check_read_back(const std::string& path, const MultisetHash& read,
                     const MultisetHash& expected) {
  if (read == expected) return;
  throw Error(ErrorCode::corrupt,
              "what is read back are not the records that were sorted (" +
                  std::to_string(read.records) + " of " + std::to_string(expected.records) +
                  ", or their checksum): the output was discarded; check this machine's memory and "
                  "disks",
              path);
}

void check_joined(const std::string& name, const MultisetHash& input, const MultisetHash& joined,
                  std::optional<std::uint64_t> expected) {
  if (joined == input && input.records == expected.value_or(input.records)) return;
  throw Error(ErrorCode::corrupt,
              "not what was read of " + name + " has been joined (" +
                  std::to_string(joined.records) + " of " +
                  std::to_string(expected.value_or(input.records)) +
                  " records, or their checksum): the output was discarded; check this machine's "
                  "memory and disks");
}

}  // namespace xxl
