#include "progress_line.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>

#include "base/units.h"

namespace xxl::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kInterval{250};
constexpr const char* kEraseLine = "\r\x1b[K";

std::string phase_name(const Progress& progress) {
  switch (progress.phase.load()) {
    case Phase::starting:
      return "starting";
    case Phase::forming_runs:
      return "forming runs";
    case Phase::merging:
      return "merging, pass " + std::to_string(progress.pass.load()) + " of " +
             std::to_string(progress.passes.load());
    case Phase::finishing:
      return "finishing";
  }
  return "";
}

// "3:25", "1:02:03".
std::string format_time(double seconds) {
  const auto total = static_cast<std::uintmax_t>(std::llround(seconds));
  char text[48];
  if (total >= 3600) {
    std::snprintf(text, sizeof text, "%ju:%02ju:%02ju", total / 3600, total / 60 % 60, total % 60);
  } else {
    std::snprintf(text, sizeof text, "%ju:%02ju", total / 60, total % 60);
  }
  return text;
}

// "merging, pass 1 of 1: 42% 1.3 of 3.1 GiB, 1.21 GB/s, 0:14 left". `seconds`: since the phase
// began.
std::string describe(const Progress& progress, double seconds) {
  const std::uint64_t total = progress.phase_bytes_total;
  const std::uint64_t done = progress.phase_bytes_done;
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;  // bytes a second
  std::string text = "xxl: " + phase_name(progress);
  if (done == 0) return text;
  char part[64];
  if (total != 0) {
    std::snprintf(part, sizeof part, "%.0f%% of ",
                  100.0 * static_cast<double>(done) / static_cast<double>(total));
  }
  text.append(": ").append(total != 0 ? part : "").append(format_bytes(total != 0 ? total : done));
  std::snprintf(part, sizeof part, ", %.2f GB/s", rate / 1e9);
  text.append(part);
  if (total > done && rate > 0) {
    text.append(", ").append(format_time(static_cast<double>(total - done) / rate));
    text.append(" left");
  }
  return text;
}

}  // namespace

ProgressLine::ProgressLine(const Progress& progress)
    : progress_(progress), thread_([this] { run(); }) {}

ProgressLine::~ProgressLine() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stop_changed_.notify_one();
  thread_.join();
}

void ProgressLine::run() {
  Phase phase = progress_.phase;
  unsigned pass = progress_.pass;
  Clock::time_point phase_start = Clock::now();
  bool shown = false;
  std::unique_lock lock(mutex_);
  while (!stop_changed_.wait_for(lock, kInterval, [this] { return stop_; })) {
    if (progress_.phase != phase || progress_.pass != pass) {
      phase = progress_.phase;
      pass = progress_.pass;
      phase_start = Clock::now();
    }
    const std::chrono::duration<double> elapsed = Clock::now() - phase_start;
    std::fprintf(stderr, "%s%s", kEraseLine, describe(progress_, elapsed.count()).c_str());
    shown = true;
  }
  if (shown) std::fputs(kEraseLine, stderr);
}

}  // namespace xxl::cli
