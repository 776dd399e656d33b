// How much faster a merge is with scratch on several disks than on one: of the same file sorted as
// records of 100 bytes and as lines. Prints rows of CSV.
//
//   scratch_disks [--records=N] [--memory=BYTES] [--disks=N] [--bandwidth=BYTES] [--repeat=N] DIR
//
// Needs no disks: what is read from a scratch directory arrives at `bandwidth` a second, one read
// after the other, as from a disk of its own. All else is as fast as it happens to be. With a
// bandwidth well below what the processors merge, the figures are the same on a busy machine.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "engine/record_sort/external_sort.h"
#include "engine/text_sort/text_sort.h"
#include "io/thread_queue.h"
#include "io/transfer.h"
#include "record/line_keys.h"
#include "record/line_order.h"
#include "testdata/generate.h"

namespace {

// Serves reads first come, first served, each when a disk of `bandwidth` would have done so.
class PacedDisk {
 public:
  explicit PacedDisk(std::uint64_t bandwidth)
      : bandwidth_(bandwidth), thread_([this] { serve(); }) {}
  ~PacedDisk() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    arrived_.notify_one();
    thread_.join();
  }

  void submit(xxl::io::Request request) {
    {
      std::lock_guard lock(mutex_);
      waiting_.emplace_back(Clock::now(), std::move(request));
    }
    arrived_.notify_one();
  }

 private:
  using Clock = std::chrono::steady_clock;

  void serve() {
    Clock::time_point ready;  // from the request before
    for (;;) {
      std::unique_lock lock(mutex_);
      arrived_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      auto [submitted, request] = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      const std::chrono::duration<double> seconds(static_cast<double>(request.data.size()) /
                                                  static_cast<double>(bandwidth_));
      // By the clock of the disk, whenever this thread is waked.
      ready = std::max(ready, submitted) + std::chrono::duration_cast<Clock::duration>(seconds);
      xxl::io::Transfer transfer(std::move(request));
      transfer.carry_out();
      std::this_thread::sleep_until(ready);
      transfer.finish();
    }
  }

  const std::uint64_t bandwidth_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::pair<Clock::time_point, xxl::io::Request>> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

using PacedDisks = std::map<std::string, PacedDisk>;  // by scratch directory

class PacedQueue final : public xxl::io::IoQueue {
 public:
  explicit PacedQueue(PacedDisks& disks) : disks_(disks) {}

  void submit(xxl::io::Request request) override {
    const auto disk = disks_.find(request.file->path());
    if (disk == disks_.end() || request.op == xxl::io::Op::write) {
      others_.submit(std::move(request));
    } else {
      disk->second.submit(std::move(request));
    }
  }
  void register_memory(std::span<std::byte>) override {}
  xxl::io::QueueStats stats() const override { return others_.stats(); }
  std::string name() const override { return "paced"; }

 private:
  PacedDisks& disks_;
  xxl::io::ThreadQueue others_{4};
};

struct Settings {
  std::uint64_t records = 5'000'000;
  std::uint64_t memory_bytes = 64 * xxl::kMiB;
  std::uint64_t bandwidth = 50'000'000;
  std::uint64_t disks = 2;
  std::uint64_t repetitions = 1;
  std::string directory;

  std::string file(const std::string& name) const { return directory + "/scratch_disks." + name; }
};

// Sorts the input, with scratch in `scratch_dirs`.
template <class Options>
xxl::SortReport sort(Options options, const Settings& settings,
                     const std::vector<std::string>& scratch_dirs,
                     xxl::SortReport (*run)(const Options&)) {
  PacedDisks disks;
  for (const std::string& directory : scratch_dirs) {
    disks.try_emplace(directory, settings.bandwidth);
  }
  options.inputs = {settings.file("in")};
  options.output = settings.file("out");
  options.memory_bytes = settings.memory_bytes;
  options.scratch_dirs = scratch_dirs;
  options.queue_factory = [&] { return std::make_unique<PacedQueue>(disks); };
  return run(options);
}

void measure(const Settings& settings) {
  xxl::GenerateOptions input;
  input.format = xxl::parse_record_format("gensort");
  input.ascii = true;  // lines of 100 bytes
  input.records = settings.records;
  input.output = settings.file("in");
  xxl::generate(input);

  xxl::SortOptions records;
  records.format = input.format;
  xxl::TextSortOptions lines;
  lines.keys = xxl::make_line_keys({});
  std::vector<std::string> directories;
  for (std::uint64_t disk = 0; disk < settings.disks; ++disk) {
    directories.push_back(settings.file(std::to_string(disk)));
    std::filesystem::create_directories(directories.back());
  }
  std::puts("repetition,kind,disks,runs,passes,scratch_bytes,merge_seconds,busy");
  for (std::uint64_t repetition = 0; repetition < settings.repetitions; ++repetition) {
    for (const bool is_text : {false, true}) {
      for (const std::vector<std::string>& dirs :
           {std::vector<std::string>{directories.front()}, directories}) {
        const xxl::SortReport report = is_text ? sort(lines, settings, dirs, xxl::text_sort)
                                               : sort(records, settings, dirs, xxl::external_sort);
        const xxl::PhaseReport& merge =
            *std::find_if(report.phases.begin(), report.phases.end(),
                          [](const auto& phase) { return phase.name.starts_with("merge"); });
        // Of the time, that in which a disk was reading.
        const double busy = static_cast<double>(report.scratch_bytes) /
                            static_cast<double>(dirs.size() * settings.bandwidth) / merge.seconds;
        std::printf("%llu,%s,%zu,%llu,%u,%llu,%.3f,%.3f\n",
                    static_cast<unsigned long long>(repetition), is_text ? "lines" : "records",
                    dirs.size(), static_cast<unsigned long long>(report.runs), report.passes,
                    static_cast<unsigned long long>(report.scratch_bytes), merge.seconds, busy);
        std::fflush(stdout);
      }
    }
  }
  for (const std::string& directory : directories) std::filesystem::remove(directory);
  for (const std::string name : {"in", "out"}) std::filesystem::remove(settings.file(name));
}

int run(const std::vector<std::string>& words) {
  Settings settings;
  for (const std::string& word : words) {
    const auto number = [&](const char* option, std::uint64_t& value) {
      const std::string prefix = std::string(option) + "=";
      if (!word.starts_with(prefix)) return false;
      value = xxl::parse_number(word.substr(prefix.size()), option, 1, xxl::kGiB << 20);
      return true;
    };
    if (number("--records", settings.records) || number("--memory", settings.memory_bytes) ||
        number("--bandwidth", settings.bandwidth) || number("--disks", settings.disks) ||
        number("--repeat", settings.repetitions)) {
      continue;
    }
    settings.directory = word;
  }
  if (settings.directory.empty() || settings.directory.starts_with("--")) {
    throw xxl::Error(xxl::ErrorCode::usage,
                     "usage: scratch_disks [--records=N] [--memory=BYTES] [--disks=N] "
                     "[--bandwidth=BYTES] [--repeat=N] DIR");
  }
  measure(settings);
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const xxl::Error& error) {
    std::fprintf(stderr, "scratch_disks: %s\n", error.what());
    return 2;
  }
}
