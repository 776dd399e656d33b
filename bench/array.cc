// Sorts on an array of disks made of memory (bench/README.md): the engine of xxl, and all the
// bandwidth that memory has. Prints a row of CSV for each run.
//
//   bench_array --record=gensort|u64|lines --bytes=N --memory=N --threads=T[,T...]
//               --bandwidth=N[,N...] [--disks=D] [--latency=US] [--depth=Q] [--movers=K]
//               [--mover-processors=P[,P...]] [--copy=cached|streaming] [--repeat=R]
//               [--forget-input] [--dir=DIR] [--header]
//   bench_array --rate [--movers=K] [--mover-processors=P[,P...]]
//
// The second form prints what the movers copy when they do nothing else, in each kind of copy: no
// array is faster.
//
// N: with k, M, G or T for powers of 1000. The bandwidth is that of the whole array, in bytes a
// second, reading and writing together. With several bandwidths and numbers of threads, each pair
// is run, on the same input. The sort has T processors; movers have the last K of this process's,
// or those that are named. Exit status 1 if an output was wrong.
#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "array_data.h"
#include "array_processors.h"
#include "array_settings.h"
#include "base/error.h"
#include "base/memory_region.h"
#include "base/random.h"
#include "base/units.h"
#include "job/fixed_sort/fixed_sort.h"
#include "job/general_sort/general_sort.h"
#include "memory_array.h"
#include "record/line_keys.h"
#include "record/line_order.h"
#include "stand_ins.h"

namespace xxl::bench {
namespace {

// GB/s that all movers copy, each from places all over memory of its own, as blocks lie, to a few
// buffers.
double copy_rate(CopyKind kind, const std::vector<int>& movers) {
  constexpr std::size_t kBlocks = 256, kBuffers = 32;
  constexpr int kRounds = 16;
  const MemoryRegion memory(movers.size() * (kBlocks + kBuffers) * kMiB);
  std::memset(memory.data(), 1, memory.size());
  std::barrier together(static_cast<std::ptrdiff_t>(movers.size() + 1));
  std::vector<std::thread> threads;
  for (std::size_t mover = 0; mover < movers.size(); ++mover) {
    threads.emplace_back([&, mover] {
      run_on(std::span(movers).subspan(mover, 1));
      std::byte* const blocks = memory.data() + mover * (kBlocks + kBuffers) * kMiB;
      std::byte* const buffers = blocks + kBlocks * kMiB;
      Random random(mover);
      together.arrive_and_wait();
      for (std::size_t i = 0; i < kRounds * kBlocks; ++i) {
        std::byte* const block = blocks + random.below(kBlocks) * kMiB;
        std::byte* const buffer = buffers + i % kBuffers * kMiB;
        i % 2 == 0 ? copy_bytes(kind, buffer, block, kMiB) : copy_bytes(kind, block, buffer, kMiB);
      }
      together.arrive_and_wait();
    });
  }
  together.arrive_and_wait();
  const auto start = std::chrono::steady_clock::now();
  together.arrive_and_wait();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(kRounds * kBlocks * movers.size() * kMiB) / seconds.count() / 1e9;
}

void print_rates(const Settings& settings) {
  const Processors processors(settings);
  std::puts("copy,movers,GB_per_s");
  for (const CopyKind kind : {CopyKind::cached, CopyKind::streaming}) {
    std::printf("%s,%zu,%.2f\n", kind == CopyKind::cached ? "cached" : "streaming",
                processors.movers.size(), copy_rate(kind, processors.movers));
  }
}

struct Outcome {
  SortReport report;
  double seconds = 0;
  double coordinator_seconds = 0;  // of the processor, by the thread that called the engine
  Time behind{0};
  bool right = false;
};

// The input, where it lies, and where all else will.
class Bench {
 public:
  explicit Bench(const Settings& settings)
      : settings_(settings),
        processors_(settings),
        data_(settings.record, settings.bytes),
        stand_ins_(settings.directory, settings.disks),
        pool_(array_bytes(), workers()),
        files_(pool_, settings.copy) {}

  // True if all outputs were right.
  bool run();

 private:
  // What files hold at the same time, and some for what blocks are padded with.
  std::uint64_t array_bytes() const {
    const std::uint64_t copies = settings_.forget_input ? 2 : 3;
    return copies * (data_.bytes() + data_.bytes() / 16) + settings_.disks * 16 * kMiB + 256 * kMiB;
  }
  unsigned workers() const { return static_cast<unsigned>(processors_.all.size()); }

  void make_input();
  bool run_once(std::uint64_t bandwidth, std::uint64_t threads);
  SortReport sort(MemoryArray& array, std::uint64_t threads) const;
  bool check_output();
  void print(const Outcome& outcome, std::uint64_t bandwidth, std::uint64_t threads) const;

  const Settings& settings_;
  const Processors processors_;
  const ArrayData data_;
  const StandIns stand_ins_;
  ExtentPool pool_;
  MemoryFiles files_;
  Sum128 checksum_ = 0;
};

void Bench::make_input() {
  files_.clear();
  stand_ins_.make_input(data_.bytes());
  MemoryFile& content = files_.of(io::File::open_input(stand_ins_.input()));
  checksum_ = make_records(data_, content, workers());
  content.set_size(data_.bytes());
  std::vector<std::byte> head(std::min<std::uint64_t>(data_.bytes(), kMiB));
  content.read(0, head);
  stand_ins_.write_head(head);
  if (settings_.forget_input) content.forget_what_was_read();
}

SortReport Bench::sort(MemoryArray& array, std::uint64_t threads) const {
  const auto set_up = [&](auto options) {
    options.inputs = {stand_ins_.input()};
    options.output = stand_ins_.output();
    options.memory_bytes = settings_.memory_bytes;
    options.scratch_dirs = stand_ins_.scratch();
    options.threads = static_cast<unsigned>(threads);
    options.queue_factory = array.queues();
    return options;
  };
  if (data_.is_text()) {
    auto options = set_up(GeneralSortOptions{});
    options.keys = make_line_keys({});
    return general_sort(options);
  }
  auto options = set_up(FixedSortOptions{});
  options.format = data_.format;
  return fixed_sort(options);
}

bool Bench::check_output() {
  const io::File output = io::File::open_input(stand_ins_.output());
  const bool right = output.size() == data_.bytes() &&
                     check_records(data_, checksum_, files_.of(output), workers());
  files_.keep_only(io::File::open_input(stand_ins_.input()));
  std::filesystem::remove(stand_ins_.output());
  return right;
}

bool Bench::run_once(std::uint64_t bandwidth, std::uint64_t threads) {
  ArrayOptions options;
  options.disks = static_cast<unsigned>(settings_.disks);
  options.mover_processors = processors_.movers;
  options.disk.read_bandwidth = options.disk.write_bandwidth =
      static_cast<double>(bandwidth) / static_cast<double>(settings_.disks);
  options.disk.latency = Time(static_cast<double>(settings_.latency_us) * 1e-6);
  options.disk.depth = static_cast<unsigned>(settings_.depth);

  Outcome outcome;
  {
    MemoryArray array(options, files_);
    for (unsigned disk = 0; disk < settings_.disks; ++disk) {
      array.place(stand_ins_.scratch()[disk], disk);
    }
    run_on(std::span(processors_.sort).first(threads));
    const double own_before = own_seconds();
    const auto start = std::chrono::steady_clock::now();
    outcome.report = sort(array, threads);
    outcome.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    outcome.coordinator_seconds = own_seconds() - own_before;
    outcome.behind = array.behind();
    run_on(processors_.all);
  }
  outcome.right = check_output();
  print(outcome, bandwidth, threads);
  return outcome.right;
}

void Bench::print(const Outcome& outcome, std::uint64_t bandwidth, std::uint64_t threads) const {
  const SortReport& report = outcome.report;
  const double seconds = outcome.seconds;
  double forming = 0, merging = 0, busy = 0, reads = 0, writes = 0;
  for (const PhaseReport& phase : report.phases) {
    if (phase.name.starts_with("form")) forming += phase.seconds;
    if (phase.name.starts_with("merge")) merging += phase.seconds;
    busy += phase.worker_busy_seconds;
    reads += phase.read_wait_seconds;
    writes += phase.write_wait_seconds;
  }
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf("%s,%llu,%llu,%llu,%llu,%zu,%llu,%llu,", data_.kind.c_str(), number(data_.bytes()),
              number(settings_.memory_bytes), number(threads), number(settings_.disks),
              processors_.movers.size(), number(settings_.latency_us), number(settings_.depth));
  std::printf("%.3f,%.4f,%.4f,%llu,%u,%llu,%.4f,", static_cast<double>(bandwidth) / 1e9, seconds,
              static_cast<double>(data_.bytes()) / seconds / 1e9, number(report.runs),
              report.passes, number(report.scratch_bytes), outcome.behind.count());
  std::printf("%.4f,%.4f,%.3f,%.4f,%.4f,%.4f,%s\n", forming, merging,
              busy / seconds / static_cast<double>(threads), outcome.coordinator_seconds, reads,
              writes, outcome.right ? "yes" : "no");
  std::fflush(stdout);
}

bool Bench::run() {
  if (settings_.header) {
    std::puts(
        "record,bytes,memory,threads,disks,movers,latency_us,depth,array_GB_per_s,seconds,"
        "sorted_GB_per_s,runs,passes,scratch_bytes,behind_seconds,form_seconds,merge_seconds,"
        "busy,coordinator_seconds,read_wait_seconds,write_wait_seconds,checked");
  }
  bool right = true, has_input = false;
  for (const std::uint64_t threads : settings_.threads) {
    for (const std::uint64_t bandwidth : settings_.bandwidths) {
      for (std::uint64_t repetition = 0; repetition < settings_.repetitions; ++repetition) {
        if (!has_input || settings_.forget_input) make_input();
        has_input = true;
        right = run_once(bandwidth, threads) && right;
      }
    }
  }
  return right;
}

}  // namespace
}  // namespace xxl::bench

int main(int argc, char** argv) {
  try {
    const xxl::bench::Settings settings = xxl::bench::parse_settings({argv + 1, argv + argc});
    if (settings.rate) {
      xxl::bench::print_rates(settings);
      return EXIT_SUCCESS;
    }
    return xxl::bench::Bench(settings).run() ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_array: %s\n", error.what());
    return 2;
  }
}
