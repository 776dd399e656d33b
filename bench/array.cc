// Sorts on an array of disks made of memory (docs/memory-array.md): the engine of xxl, and all the
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
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "array_data.h"
#include "base/error.h"
#include "base/memory_region.h"
#include "base/random.h"
#include "base/units.h"
#include "engine/record_sort/external_sort.h"
#include "engine/text_sort/text_sort.h"
#include "memory_array.h"
#include "record/line_keys.h"
#include "record/line_order.h"

namespace xxl::bench {
namespace {

struct Settings {
  std::string record = "gensort";
  std::uint64_t bytes = 1'000'000'000;
  std::uint64_t memory_bytes = 125'000'000;
  std::vector<std::uint64_t> threads = {1};
  std::vector<std::uint64_t> bandwidths = {10'000'000'000};
  std::uint64_t disks = 4;
  std::uint64_t latency_us = 80;
  std::uint64_t depth = 32;
  std::uint64_t movers = 1;
  std::vector<std::uint64_t> mover_processors;
  CopyKind copy = CopyKind::streaming;
  std::uint64_t repetitions = 1;
  bool forget_input = false;
  std::string directory = "/dev/shm";
  bool header = false;
  bool rate = false;
};

std::uint64_t parse_amount(std::string_view text, std::string_view option) {
  constexpr std::string_view kSuffixes = "kMGT";
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  const std::size_t suffix = end - rest == 1 ? kSuffixes.find(*rest) : kSuffixes.npos;
  if (error != std::errc{} || (rest != end && suffix == kSuffixes.npos)) {
    throw Error(ErrorCode::usage, "invalid value of " + std::string(option));
  }
  for (std::size_t i = 0; rest != end && i <= suffix; ++i) value *= 1000;
  return value;
}

std::vector<std::uint64_t> parse_amounts(std::string_view text, std::string_view option) {
  std::vector<std::uint64_t> values;
  for (;;) {
    const std::size_t comma = text.find(',');
    values.push_back(parse_amount(text.substr(0, comma), option));
    if (comma == text.npos) return values;
    text.remove_prefix(comma + 1);
  }
}

void set(Settings& settings, std::string_view name, std::string_view value) {
  const auto amount = [&](std::string_view option, std::uint64_t& to) {
    if (name == option) to = parse_amount(value, name);
    return name == option;
  };
  const auto amounts = [&](std::string_view option, std::vector<std::uint64_t>& to) {
    if (name == option) to = parse_amounts(value, name);
    return name == option;
  };
  if (amount("--bytes", settings.bytes) || amount("--memory", settings.memory_bytes) ||
      amount("--disks", settings.disks) || amount("--latency", settings.latency_us) ||
      amount("--depth", settings.depth) || amount("--movers", settings.movers) ||
      amount("--repeat", settings.repetitions) || amounts("--threads", settings.threads) ||
      amounts("--bandwidth", settings.bandwidths) ||
      amounts("--mover-processors", settings.mover_processors)) {
    return;
  }
  if (name == "--record") {
    settings.record = value;
  } else if (name == "--dir") {
    settings.directory = value;
  } else if (name == "--copy" && (value == "cached" || value == "streaming")) {
    settings.copy = value == "cached" ? CopyKind::cached : CopyKind::streaming;
  } else if (name == "--forget-input") {
    settings.forget_input = true;
  } else if (name == "--header") {
    settings.header = true;
  } else if (name == "--rate") {
    settings.rate = true;
  } else {
    throw Error(ErrorCode::usage, "what is " + std::string(name) + "? See bench/array.cc");
  }
}

std::vector<int> own_processors() {
  cpu_set_t mask;
  XXL_CHECK(sched_getaffinity(0, sizeof mask, &mask) == 0);
  std::vector<int> processors;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &mask)) processors.push_back(processor);
  }
  return processors;
}

// Of this thread and of those that it will make.
void run_on(std::span<const int> processors) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const int processor : processors) CPU_SET(processor, &mask);
  XXL_CHECK(sched_setaffinity(0, sizeof mask, &mask) == 0);
}

// Who runs where.
struct Processors {
  explicit Processors(const Settings& settings) : all(own_processors()), sort(all) {
    for (const std::uint64_t named : settings.mover_processors) {
      const auto found = std::find(sort.begin(), sort.end(), static_cast<int>(named));
      if (found == sort.end()) {
        throw Error(ErrorCode::usage, "no processor " + std::to_string(named));
      }
      movers.push_back(*found);
      sort.erase(found);
    }
    while (movers.size() < settings.movers && !sort.empty()) {
      movers.push_back(sort.back());
      sort.pop_back();
    }
    const std::uint64_t most = *std::max_element(settings.threads.begin(), settings.threads.end());
    if (sort.size() < most) {
      throw Error(ErrorCode::usage, "of " + std::to_string(all.size()) + " processors, " +
                                        std::to_string(sort.size()) + " are left for the sort");
    }
  }

  std::vector<int> all, sort, movers;
};

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

// The files that stand for those of the array; gone with this object.
class StandIns {
 public:
  StandIns(const std::string& where, std::uint64_t disks) {
    std::string name = where + "/bench-array-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw_io_error(errno, "cannot make a directory", where);
    directory_ = name;
    for (std::uint64_t disk = 0; disk < disks; ++disk) {
      scratch_.push_back(name + "/disk" + std::to_string(disk));
      std::filesystem::create_directory(scratch_.back());
    }
  }
  ~StandIns() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  StandIns(const StandIns&) = delete;
  StandIns& operator=(const StandIns&) = delete;

  const std::vector<std::string>& scratch() const { return scratch_; }
  std::string input() const { return directory_ + "/in"; }
  std::string output() const { return directory_ + "/out"; }

  // An input of this size without content.
  void make_input(std::uint64_t bytes) const {
    write(input(), O_CREAT | O_TRUNC, [&](int fd) { return ftruncate(fd, off_t(bytes)) == 0; });
  }
  // What is looked at without queues.
  void write_head(std::span<const std::byte> head) const {
    write(input(), 0, [&](int fd) {
      return pwrite(fd, head.data(), head.size(), 0) == static_cast<ssize_t>(head.size());
    });
  }

 private:
  template <class Change>
  static void write(const std::string& path, int flags, const Change& change) {
    const int fd = open(path.c_str(), flags | O_WRONLY | O_CLOEXEC, 0600);
    const bool written = fd >= 0 && change(fd);
    const int error = errno;
    if (fd >= 0) close(fd);
    if (!written) throw_io_error(error, "cannot write", path);
  }

  std::string directory_;
  std::vector<std::string> scratch_;
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
  void print(const SortReport& report, std::uint64_t bandwidth, std::uint64_t threads,
             double seconds, Time behind, bool right) const;

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
    options.parallel = static_cast<unsigned>(threads);
    options.queue_factory = array.queues();
    return options;
  };
  if (data_.is_text()) {
    auto options = set_up(TextSortOptions{});
    options.keys = make_line_keys({});
    return text_sort(options);
  }
  auto options = set_up(SortOptions{});
  options.format = data_.format;
  return external_sort(options);
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

  SortReport report;
  Time behind{0};
  double seconds = 0;
  {
    MemoryArray array(options, files_);
    for (unsigned disk = 0; disk < settings_.disks; ++disk) {
      array.place(stand_ins_.scratch()[disk], disk);
    }
    run_on(std::span(processors_.sort).first(threads));
    const auto start = std::chrono::steady_clock::now();
    report = sort(array, threads);
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    behind = array.behind();
    run_on(processors_.all);
  }
  const bool right = check_output();
  print(report, bandwidth, threads, seconds, behind, right);
  return right;
}

void Bench::print(const SortReport& report, std::uint64_t bandwidth, std::uint64_t threads,
                  double seconds, Time behind, bool right) const {
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
              report.passes, number(report.scratch_bytes), behind.count());
  std::printf("%.4f,%.4f,%.3f,%.4f,%.4f,%s\n", forming, merging,
              busy / seconds / static_cast<double>(threads), reads, writes, right ? "yes" : "no");
  std::fflush(stdout);
}

bool Bench::run() {
  if (settings_.header) {
    std::puts(
        "record,bytes,memory,threads,disks,movers,latency_us,depth,array_GB_per_s,seconds,"
        "sorted_GB_per_s,runs,passes,scratch_bytes,behind_seconds,form_seconds,merge_seconds,"
        "busy,read_wait_seconds,write_wait_seconds,checked");
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

Settings parse(const std::vector<std::string>& words) {
  Settings settings;
  for (const std::string& word : words) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::size_t value = std::min(equals + 1, word.size());
    set(settings, std::string_view(word).substr(0, equals), std::string_view(word).substr(value));
  }
  const auto is_zero = [](std::uint64_t value) { return value == 0; };
  if (is_zero(settings.disks) || is_zero(settings.depth) ||
      settings.movers + settings.mover_processors.size() == 0 ||
      std::ranges::any_of(settings.threads, is_zero) ||
      std::ranges::any_of(settings.bandwidths, is_zero)) {
    throw Error(ErrorCode::usage, "disks, depth, movers, threads and bandwidth are above 0");
  }
  return settings;
}

}  // namespace
}  // namespace xxl::bench

int main(int argc, char** argv) {
  try {
    const xxl::bench::Settings settings = xxl::bench::parse({argv + 1, argv + argc});
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
