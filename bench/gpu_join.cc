// Joins arrays in pinned host memory on GPUs and measures it, memory to memory.
//
//     gpu_join OUTPUT.csv CASE...
//
// CASE: workload:R:gpus:method:order:theta:selectivity, for example A:134:1:merge:unsorted:0:1.
// Workload A has records of 4+4 bytes and ten times as many in S as in R, B records of 8+8 bytes
// and as many in S as in R (Maltenberger 2024, section 4.1.3). R is its number of records in 2^20.
// Keys of R are unique and spread over all numbers; a record of S has the key of one of R, drawn
// uniformly or by a Zipf distribution with exponent `theta` < 1 (Gray et al., SIGMOD 1994), with
// probability `selectivity`, else a key that is not in R. method: merge (sorted inputs; order says
// if sorting them is counted), hash (R in the table), hash/N (so little GPU memory that about an
// N-th of the table is in it). order: sorted or unsorted.
//
// Each case is run three times for each result: `count` (the number of rows), `rows` (key, value of
// R, value of S, in host memory), and for merge `ranges` (what GPUs find, handed to the host) and
// `host rows` (rows made of them by the host).
// Number and an order-independent checksum of the rows are compared with those known from making
// the data. Busy seconds are those of the threads of a GPU, summed over all GPUs.
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/time_line.h"
#include "gpu/array/array_sort.h"
#include "gpu/cuda/cuda_device.h"
#include "gpu/join/array_hash_join.h"
#include "gpu/join/array_join.h"
#include "record/record_format.h"

namespace {

using namespace xxl;
using namespace xxl::gpu;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x ^= x >> 31;
  x *= 0x7fb5d329728ea185u;
  x ^= x >> 27;
  x *= 0x81dadef4bc2dd44du;
  return x ^ (x >> 33);
}

// A number below `n`, from 64 random bits.
std::uint64_t below(std::uint64_t random, std::uint64_t n) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(random) * n >> 64);
}

struct Sums {
  std::uint64_t rows = 0, hash = 0;
  friend bool operator==(const Sums&, const Sums&) = default;
};

// Calls work(first, end) on all processors; returns the sums of what it returns.
template <class Work>
Sums in_parallel(std::size_t n, Work work) {
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<Sums> results(threads);
  std::vector<std::thread> running;
  for (unsigned t = 0; t < threads; ++t) {
    running.emplace_back([&, t] { results[t] = work(n * t / threads, n * (t + 1) / threads); });
  }
  Sums sum;
  for (unsigned t = 0; t < threads; ++t) {
    running[t].join();
    sum.rows += results[t].rows;
    sum.hash += results[t].hash;
  }
  return sum;
}

// Ranks below n, rank 0 the most frequent one.
class Zipf {
 public:
  Zipf(std::uint64_t n, double theta) : n_(n), theta_(theta) {
    if (theta == 0) return;
    // The sum of i^-theta: some terms, and the integral of the rest.
    const auto all = static_cast<double>(n), terms = std::min(all, 1e6);
    for (double i = 1; i <= terms; ++i) zeta_ += std::pow(i, -theta);
    zeta_ += (std::pow(all + 0.5, 1 - theta) - std::pow(terms + 0.5, 1 - theta)) / (1 - theta);
    two_ = 1 + std::pow(0.5, theta);
    alpha_ = 1 / (1 - theta);
    eta_ = (1 - std::pow(2 / all, 1 - theta)) / (1 - two_ / zeta_);
  }
  std::uint64_t operator()(std::uint64_t random) const {
    if (theta_ == 0) return below(random, n_);
    const double u = static_cast<double>(random >> 11) * 0x1p-53;
    if (u * zeta_ < 1) return 0;
    if (u * zeta_ < two_) return 1;
    const double rank = static_cast<double>(n_) * std::pow(eta_ * u - eta_ + 1, alpha_);
    return std::min<std::uint64_t>(static_cast<std::uint64_t>(rank), n_ - 1);
  }

 private:
  std::uint64_t n_;
  double theta_, zeta_ = 0, two_ = 0, alpha_ = 0, eta_ = 0;
};

struct Case {
  std::string text, workload, method, order;
  std::size_t r_count = 0, s_count = 0, gpus = 1;
  double theta = 0, selectivity = 1;

  unsigned word() const { return workload == "A" ? 4 : 8; }
  std::size_t record_bytes() const { return 2 * word(); }
  std::size_t row_bytes() const { return 3 * word(); }
};

Case parse(const std::string& text) {
  std::stringstream stream(text);
  std::vector<std::string> f;
  for (std::string field; std::getline(stream, field, ':');) f.push_back(field);
  Case c;
  c.text = text;
  c.workload = f.at(0);
  c.r_count = static_cast<std::size_t>(std::stod(f.at(1)) * 1048576);
  c.s_count = c.workload == "A" ? 10 * c.r_count : c.r_count;
  c.gpus = std::stoul(f.at(2));
  c.method = f.at(3);
  c.order = f.at(4);
  c.theta = std::stod(f.at(5));
  c.selectivity = std::stod(f.at(6));
  return c;
}

template <class Word>
struct Pair {
  Word key, value;
};
template <class Word>
struct Row {
  Word key, r_value, s_value;
};

template <class Word>
std::uint64_t hash_of(const Row<Word>& row) {
  return mix(row.key + mix(row.r_value + mix(row.s_value)));
}

// Keys are divided into r_count stretches of equal length; R has one key of each.
template <class Word>
std::uint64_t stretch_of(const Case& c) {
  return static_cast<Word>(~Word{0}) / c.r_count;
}

// The record of R with the i-th smallest key.
template <class Word>
Pair<Word> ranked_r(const Case& c, std::uint64_t i) {
  const std::uint64_t stretch = stretch_of<Word>(c);
  return {static_cast<Word>(i * stretch + below(mix(i), stretch)),
          static_cast<Word>(mix(i ^ 0x5555))};
}

// Makes R and S in random order; returns what their join is to have.
template <class Word>
Sums make(const Case& c, std::byte* r_memory, std::byte* s_memory) {
  auto* const r = reinterpret_cast<Pair<Word>*>(r_memory);
  auto* const s = reinterpret_cast<Pair<Word>*>(s_memory);
  const std::uint64_t n = c.r_count;
  // A permutation: multiplication by a number without a common factor.
  auto factor = static_cast<std::uint64_t>(static_cast<double>(n) * 0.6180339887) | 1;
  while (std::gcd(factor, n) != 1) factor += 2;
  const auto permuted = [n, factor](std::uint64_t i) { return i * factor % n; };
  in_parallel(n, [&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) r[i] = ranked_r<Word>(c, permuted(i));
    return Sums{};
  });
  const Zipf zipf(n, c.theta);
  const double limit = c.selectivity * 0x1p53;
  return in_parallel(c.s_count, [&](std::size_t first, std::size_t end) {
    Sums sums;
    for (std::size_t j = first; j < end; ++j) {
      const std::uint64_t rank = permuted(zipf(mix(j)));
      const Pair<Word> partner = ranked_r<Word>(c, rank);
      s[j] = {partner.key, static_cast<Word>(mix(j ^ 0xaaaa))};
      if (static_cast<double>(mix(~j) >> 11) < limit) {
        ++sums.rows;
        sums.hash += hash_of<Word>({partner.key, partner.value, s[j].value});
      } else {
        const std::uint64_t stretch = stretch_of<Word>(c), start = rank * stretch;
        s[j].key = static_cast<Word>(start + (partner.key - start + 1) % stretch);
      }
    }
    return sums;
  });
}

// Sums of the rows, which are overwritten. With `swapped` the value of S comes first.
template <class Word>
Sums take(std::byte* memory, std::uint64_t rows, bool swapped) {
  auto* const row = reinterpret_cast<Row<Word>*>(memory);
  return in_parallel(rows, [&](std::size_t first, std::size_t end) {
    Sums sums;
    for (std::size_t i = first; i < end; ++i) {
      ++sums.rows;
      if (swapped) std::swap(row[i].r_value, row[i].s_value);
      sums.hash += hash_of(row[i]);
      row[i] = {};
    }
    return sums;
  });
}

class PinnedArray {
 public:
  PinnedArray(std::size_t bytes, Device& device) : bytes_(bytes), device_(device) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no memory");
    madvise(memory, bytes, MADV_HUGEPAGE);
    data_ = static_cast<std::byte*>(memory);
    in_parallel(bytes >> 12, [&](std::size_t first, std::size_t end) {
      for (std::size_t page = first; page < end; ++page) data_[page << 12] = std::byte{1};
      return Sums{};
    });
    device_.pin({data_, bytes_});
  }
  ~PinnedArray() {
    device_.unpin({data_, bytes_});
    munmap(data_, bytes_);
  }
  std::byte* data() const { return data_; }

 private:
  std::byte* data_;
  std::size_t bytes_;
  Device& device_;
};

struct Arrays {
  std::byte *r, *s, *rows;
};

double sort_array(const std::vector<Device*>& devices, const KeyLayout& layout, std::byte* array,
                  std::size_t bytes) {
  ArraySorter sorter(devices, layout, bytes, {});
  const SortedArray sorted{{array, bytes}, {array, bytes}};
  const auto start = Clock::now();
  sorter.sort({&sorted, 1});
  return seconds_since(start);
}

class Report {
 public:
  explicit Report(const char* path) : csv_(path) {
    csv_ << "workload,R,S,gpus,method,order,theta,selectivity,result,repeat,sort_R,sort_S,"
            "build,join,total,Mtuples_per_s,copy_in_busy,kernel_busy,copy_out_busy,setup,near,rows,"
            "check\n";
  }

  struct Measured {
    const char* result;
    int repeat;
    double sort_r = 0, sort_s = 0, build = 0, join = 0;  // seconds
    double setup = 0;
    double near = 1;  // part of the table
    std::uint64_t rows = 0;
    bool correct = false;
  };

  void add(const Case& c, const Measured& m, const IntervalList& time_line) {
    std::map<std::string, double> busy;
    for (const auto& interval : time_line.intervals()) {
      busy[interval.what] += static_cast<double>(interval.end - interval.start) * 1e-9;
    }
    const double total = m.sort_r + m.sort_s + m.build + m.join;
    char line[512];
    std::snprintf(
        line, sizeof line,
        "%s,%zu,%zu,%zu,%s,%s,%g,%g,%s,%d,%.4f,%.4f,%.4f,%.4f,%.4f,%.0f,%.4f,%.4f,%.4f,"
        "%.3f,%.3f,%llu,%s",
        c.workload.c_str(), c.r_count, c.s_count, c.gpus, c.method.c_str(), c.order.c_str(),
        c.theta, c.selectivity, m.result, m.repeat, m.sort_r, m.sort_s, m.build, m.join, total,
        static_cast<double>(c.r_count + c.s_count) / total * 1e-6, busy["copy in"],
        busy["match"] + busy["insert"] + busy["select"] + busy["probe"] + busy["write rows"],
        busy["copy out"], m.setup, m.near, static_cast<unsigned long long>(m.rows),
        m.correct ? "correct" : "WRONG");
    csv_ << line << std::endl;
    std::printf("%s\n", line);
    std::fflush(stdout);
  }

 private:
  std::ofstream csv_;
};

template <class Word>
void run_merge(const Case& c, const std::vector<Device*>& devices, const KeyLayout& layout,
               const Arrays& arrays, const Sums& expected, Report& report) {
  const std::size_t r_bytes = c.r_count * c.record_bytes(), s_bytes = c.s_count * c.record_bytes();
  double sort_r = sort_array(devices, layout, arrays.r, r_bytes);
  double sort_s = sort_array(devices, layout, arrays.s, s_bytes);
  if (c.order == "sorted") sort_r = sort_s = 0;
  const std::span<const std::byte> r(arrays.r, r_bytes), s(arrays.s, s_bytes);
  const std::span<std::byte> rows(arrays.rows, c.s_count * c.row_bytes());
  for (const std::string result : {"count", "ranges", "rows", "host rows"}) {
    for (int repeat = 0; repeat < 3; ++repeat) {
      IntervalList time_line;
      ArrayJoinOptions options;
      options.time_line = &time_line;
      options.host_rows = result == "host rows";
      if (const char* part = std::getenv("PART_RECORDS")) options.part_records = std::stoul(part);
      const auto setup = Clock::now();
      ArrayJoiner joiner(devices, layout, layout, options);
      const double setup_seconds = seconds_since(setup);
      JoinCounts counts;
      // The first call takes memory for ranges.
      if (result == "ranges") joiner.matches({}, {}, [](const auto&) {});
      const auto start = Clock::now();
      if (result == "count") counts = joiner.count(r, s);
      if (result == "ranges") counts = joiner.matches(r, s, [](const auto&) {});
      if (result.ends_with("rows")) counts = joiner.join(r, s, kInnerJoin, rows);
      const double seconds = seconds_since(start);
      bool correct = counts.pairs == expected.rows;
      if (result == "rows" && correct)
        correct = take<Word>(arrays.rows, counts.pairs, false) == expected;
      report.add(c,
                 {.result = result.c_str(),
                  .repeat = repeat,
                  .sort_r = sort_r,
                  .sort_s = sort_s,
                  .join = seconds,
                  .setup = setup_seconds,
                  .rows = counts.pairs,
                  .correct = correct},
                 time_line);
    }
  }
}

template <class Word>
void run_hash(const Case& c, const std::vector<Device*>& devices, const KeyLayout& layout,
              const Arrays& arrays, const Sums& expected, Report& report) {
  const std::size_t record_bytes = c.record_bytes();
  const std::span<const std::byte> r(arrays.r, c.r_count * record_bytes);
  const std::span<const std::byte> s(arrays.s, c.s_count * record_bytes);
  const std::span<std::byte> rows(arrays.rows, c.s_count * c.row_bytes());
  for (const std::string result : {"count", "rows"}) {
    for (int repeat = 0; repeat < 3; ++repeat) {
      IntervalList time_line;
      HashJoinOptions options;
      options.time_line = &time_line;
      if (const char* batch = std::getenv("BATCH_RECORDS")) {
        options.batch_records = std::stoul(batch);
      }
      if (c.method.starts_with("hash/")) {
        const HashJoinShape shape{.build_records = c.r_count / std::stoul(c.method.substr(5)),
                                  .build_record_bytes = record_bytes,
                                  .batch = {.records = options.batch_records,
                                            .record_bytes = record_bytes,
                                            .row_bytes = c.row_bytes()}};
        options.memory_bytes = shape.bytes();
      }
      const auto setup = Clock::now();
      HashJoiner joiner(devices, layout, layout, c.r_count, options);
      const double setup_seconds = seconds_since(setup);
      const JoinCounts counts =
          result == "count" ? joiner.count(s, r) : joiner.join(s, r, kInnerJoin, rows);
      bool correct = counts.pairs == expected.rows;
      if (result == "rows" && correct) {
        correct = take<Word>(arrays.rows, counts.pairs, true) == expected;
      }
      report.add(c,
                 {.result = result.c_str(),
                  .repeat = repeat,
                  .build = joiner.times().build_seconds,
                  .join = joiner.times().probe_seconds,
                  .setup = setup_seconds,
                  .near = joiner.near_part(),
                  .rows = counts.pairs,
                  .correct = correct},
                 time_line);
    }
  }
}

template <class Word>
void run(const Case& c, std::vector<std::unique_ptr<Device>>& owned, const Arrays& arrays,
         Report& report) {
  std::vector<Device*> devices;
  for (std::size_t i = 0; i < c.gpus; ++i) devices.push_back(owned.at(i).get());
  const KeyLayout layout(parse_record_format(sizeof(Word) == 4 ? "kv32" : "kv64"));
  const Sums expected = make<Word>(c, arrays.r, arrays.s);
  if (c.method == "merge") {
    run_merge<Word>(c, devices, layout, arrays, expected, report);
  } else {
    run_hash<Word>(c, devices, layout, arrays, expected, report);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::string reason;
    auto devices = cuda_devices(reason);
    if (devices.empty()) throw std::runtime_error(reason);
    std::vector<Case> cases;
    std::size_t r_most = 0, s_most = 0, rows_most = 0;
    for (int i = 2; i < argc; ++i) {
      const Case c = parse(argv[i]);
      r_most = std::max(r_most, c.r_count * c.record_bytes());
      s_most = std::max(s_most, c.s_count * c.record_bytes());
      rows_most = std::max(rows_most, c.s_count * c.row_bytes());
      cases.push_back(c);
    }
    const auto start = Clock::now();
    const PinnedArray r(r_most, *devices.front()), s(s_most, *devices.front()),
        rows(rows_most, *devices.front());
    std::printf("pinned %.1f GB in %.1f s\n",
                static_cast<double>(r_most + s_most + rows_most) * 1e-9, seconds_since(start));
    Report report(argv[1]);
    for (const Case& c : cases) {
      const auto begin = Clock::now();
      try {
        const Arrays arrays{r.data(), s.data(), rows.data()};
        if (c.word() == 4) {
          run<std::uint32_t>(c, devices, arrays, report);
        } else {
          run<std::uint64_t>(c, devices, arrays, report);
        }
      } catch (const std::exception& error) {
        std::printf("%s: %s\n", c.text.c_str(), error.what());
      }
      std::printf("%s took %.1f s\n", c.text.c_str(), seconds_since(begin));
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_join: %s\n", error.what());
    return 2;
  }
}
