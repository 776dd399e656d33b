#include "report/job_sampler.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <new>
#include <utility>

#include "base/machine_limits.h"
#include "report/progress_line.h"

namespace xxl::cli {
namespace {

constexpr std::uint64_t kLongestTick = 500'000'000;  // ns
// A look at a machine of many processors takes longer: so many times that pass until the next one.
constexpr double kRest = 200;

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::uint64_t resident_bytes() {
  std::uint64_t pages = 0;
  std::uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::chrono::steady_clock::time_point time_point(std::uint64_t at) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(at));
}

// Seconds in which processors of the machine were busy; 0 if it has more than this process may use,
// as what goes on there does not matter.
double machine_seconds() {
  static const bool has_all = available_processors() == sysconf(_SC_NPROCESSORS_ONLN);
  if (!has_all) return 0;
  std::ifstream stat("/proc/stat");
  std::string name;
  std::uint64_t user = 0, nice = 0, system = 0, idle = 0, io = 0, irq = 0, softirq = 0, steal = 0;
  stat >> name >> user >> nice >> system >> idle >> io >> irq >> softirq >> steal;
  return static_cast<double>(user + nice + system + irq + softirq + steal) /
         static_cast<double>(sysconf(_SC_CLK_TCK));
}

// Counters of a phase begin at 0 again.
std::uint64_t grown(std::uint64_t now, std::uint64_t before) {
  return now >= before ? now - before : now;
}

}  // namespace

JobSampler::JobSampler(const Progress& progress, TimeLine* also)
    : progress_(progress), also_(also), first_(look()), last_(first_) {
  thread_ = Thread::try_start([this] { run(); });
}

void JobSampler::watch(std::function<FileTraffic()> file_bytes) {
  std::lock_guard lock(mutex_);
  file_bytes_ = std::move(file_bytes);
}

void JobSampler::stop() {
  {
    std::lock_guard lock(mutex_);
    if (stop_) return;
    stop_ = true;
  }
  stop_changed_.notify_one();
  thread_.join();
  try {
    sample();
  } catch (const std::bad_alloc&) {  // a look less
  }
  end_phase(last_.at);
  file_bytes_ = {};
}

void JobSampler::run() {
  std::unique_lock lock(mutex_);
  for (double cost = 0;;) {
    const auto rest = static_cast<std::uint64_t>(cost * kRest * 1e9);
    const std::chrono::nanoseconds tick(std::min(std::max(buckets_.width(), rest), kLongestTick));
    if (stop_changed_.wait_for(lock, tick, [this] { return stop_; })) break;
    try {
      sample();
    } catch (const std::bad_alloc&) {  // a look less
    }
    cost = thread_seconds() - own_seconds_;
    own_seconds_ += cost;
  }
}

JobSampler::Seen JobSampler::look() const {
  Seen seen;
  seen.at = TimeLine::now();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  seen.user = seconds_of(usage.ru_utime);
  seen.system = seconds_of(usage.ru_stime);
  seen.machine = machine_seconds();
  seen.done = progress_.phase_bytes_done;
  seen.read_wait_ns = progress_.read_wait_ns;
  seen.write_wait_ns = progress_.write_wait_ns;
  if (file_bytes_) seen.files = file_bytes_();
  return seen;
}

// With the lock held, or without other threads.
void JobSampler::sample() {
  const Seen seen = look();
  const auto add = [&](const TimeBuckets::Name& name, double amount) {
    if (amount > 0) buckets_.add(name, last_.at, seen.at, amount);
  };
  // A wait is known when it has ended; it may have begun before the last look.
  const auto add_wait = [&](const TimeBuckets::Name& name, std::uint64_t ns) {
    if (ns > 0) {
      buckets_.add(name, std::min(last_.at, seen.at - ns), seen.at, static_cast<double>(ns) * 1e-9);
    }
  };
  buckets_.extend(seen.at);
  add(series::kUser, seen.user - last_.user);
  add(series::kSystem, seen.system - last_.system);
  // The machine's clock is coarser: what is less in one look may be more in the next.
  const double own = seen.user + seen.system - first_.user - first_.system;
  if (const double others = seen.machine - first_.machine - own; others > others_) {
    add(series::kOthers, others - others_);
    others_ = others;
  }
  add(series::kSorted, static_cast<double>(grown(seen.done, last_.done)));
  add_wait(series::kReadWait, seen.read_wait_ns - last_.read_wait_ns);
  add_wait(series::kWriteWait, seen.write_wait_ns - last_.write_wait_ns);
  add({"files", "read"}, static_cast<double>(seen.files.read - last_.files.read));
  add({"files", "write"}, static_cast<double>(seen.files.written - last_.files.written));
  buckets_.raise(series::kMemory, seen.at - 1, static_cast<double>(resident_bytes()));
  buckets_.raise(series::kScratch, seen.at - 1, static_cast<double>(progress_.scratch_bytes));
  note_phase(seen.at);
  last_ = seen;
}

void JobSampler::note_phase(std::uint64_t at) {
  const Phase phase = progress_.phase;
  const unsigned pass = progress_.pass;
  if (phase == phase_ && pass == pass_) return;
  end_phase(at);
  phase_ = phase;
  pass_ = pass;
  if (phase == Phase::starting) return;
  PhaseReport report;
  report.name = phase_name(progress_);
  report.start = time_point(at);
  phases_.push_back(std::move(report));
}

void JobSampler::end_phase(std::uint64_t at) {
  if (phase_ == Phase::starting) return;
  PhaseReport& phase = phases_.back();
  phase.seconds = std::chrono::duration<double>(time_point(at) - phase.start).count();
}

// Intervals come in the order in which they end: what is before the end of an earlier one has been
// counted, or is a gap that is forgotten (of one that began later and ended sooner).
void JobSampler::add_busy(const TimeBuckets::Name& name, std::uint64_t start, std::uint64_t end) {
  std::uint64_t& until = busy_until_[name];
  start = std::max({start, until, buckets_.start()});
  if (start >= end) return;
  buckets_.add(name, start, end, static_cast<double>(end - start) * 1e-9);
  until = end;
}

void JobSampler::add(std::string_view track, const char* what, std::uint64_t start,
                     std::uint64_t end, std::uint64_t bytes) noexcept {
  if (also_ != nullptr) also_->add(track, what, start, end, bytes);
  try {
    std::lock_guard lock(mutex_);
    if (stop_) return;
    const std::string name(track);
    add_busy({name, series::kBusy}, start, end);
    add_busy({name, std::string(what) + " busy"}, start, end);
    if (bytes > 0) buckets_.add({name, what}, start, end, static_cast<double>(bytes));
  } catch (const std::bad_alloc&) {  // a time line with a gap
  }
}

}  // namespace xxl::cli
