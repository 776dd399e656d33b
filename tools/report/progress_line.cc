#include "report/progress_line.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>

#include "base/fatal_signals.h"
#include "base/units.h"
#include "job/phase_name.h"
#include "report/report_text.h"

namespace xxl::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kInterval{250};
constexpr std::chrono::milliseconds kShortestForRate{500};
constexpr const char* kEraseLine = "\r\x1b[K";

// A signal must not leave the shell's prompt on the progress line.
std::atomic<bool> line_is_open;
void end_line() {
  if (line_is_open) (void)!write(STDERR_FILENO, "\n", 1);
}

// A phase as first seen.
struct PhaseStart {
  explicit PhaseStart(const Progress& progress)
      : phase(progress.phase), pass(progress.pass), bytes_done(progress.phase_bytes_done) {}
  bool is_of(const Progress& progress) const {
    return progress.phase == phase && progress.pass == pass;
  }

  Phase phase;
  unsigned pass;
  std::uint64_t bytes_done;
  Clock::time_point time = Clock::now();
};

// Bytes a second since `start`; 0 when that was too recent.
double rate_since(const PhaseStart& start, std::uint64_t bytes_done) {
  const Clock::duration elapsed = Clock::now() - start.time;
  if (elapsed < kShortestForRate || bytes_done <= start.bytes_done) return 0;
  return static_cast<double>(bytes_done - start.bytes_done) /
         std::chrono::duration<double>(elapsed).count();
}

// "merging, pass 1 of 1: 42% of 3.1 GiB, 1.21 GB/s, 0:14 left".
std::string describe(const Progress& progress, const PhaseStart& start) {
  const std::uint64_t total = progress.phase_bytes_total;
  const std::uint64_t done = progress.phase_bytes_done;
  const double rate = rate_since(start, done);
  std::string text = "xxl: " + phase_name(progress);
  if (done == 0) return text;
  text.append(": ");
  if (total != 0) {
    const double percent = 100.0 * static_cast<double>(done) / static_cast<double>(total);
    text.append(decimal_text(percent, 0)).append("% of ");
  }
  text.append(format_bytes(total != 0 ? total : done));
  if (rate == 0) return text;
  text.append(", ").append(decimal_text(rate / 1e9)).append(" GB/s");
  if (total > done) {
    text.append(", ").append(clock_text(static_cast<double>(total - done) / rate));
    text.append(" left");
  }
  return text;
}

}  // namespace

std::string phase_name(const Progress& progress) {
  return phase_name(progress.phase, progress.pass, progress.passes);
}

ProgressLine::ProgressLine(const Progress& progress)
    : progress_(progress), thread_(Thread::try_start([this] { run(); })) {}

ProgressLine::~ProgressLine() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stop_changed_.notify_one();
  thread_.join();
}

void ProgressLine::run() {
  PhaseStart start(progress_);
  std::unique_lock lock(mutex_);
  while (!stop_changed_.wait_for(lock, kInterval, [this] { return stop_; })) {
    if (!start.is_of(progress_)) start = PhaseStart(progress_);
    std::fprintf(stderr, "%s%s", kEraseLine, describe(progress_, start).c_str());
    if (!line_is_open.exchange(true)) on_fatal_signal(end_line);
  }
  if (line_is_open.exchange(false)) std::fputs(kEraseLine, stderr);
}

}  // namespace xxl::cli
