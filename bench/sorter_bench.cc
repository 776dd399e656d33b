// Pushes pseudo-random records into sorters, pulls them, and checks what comes out.
//
//   sorter_bench MODE RECORDS MEMORY_BYTES SCRATCH_DIRECTORY [DEVICE]
//
// DEVICE: cpu (the default), gpu, or auto; sorters of numbers are then told how many come.
//
// Numbers: spans, one: by keys, in spans or one by one; less: by a comparator; opaque: by a
// comparator that nothing but comparing tells anything about; beside, series: a third of them in
// each of three sorters, which are filled and emptied in turns, or one after the other. strings: of
// 20 to 200 bytes, which write-strings writes as lines to standard output. file: numbers in a file,
// by sort_files(). small: many sorters, one after the other, of RECORDS of 16 bytes each, by a key,
// by a comparator, and std::sort; the seconds are those of the fastest. Prints lines of JSON.
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "xxl/file.h"
#include "xxl/sort.h"
#include "xxl/sorter.h"

namespace {

constexpr std::size_t kSpan = std::size_t{1} << 16;

struct Less {
  bool operator()(std::uint64_t a, std::uint64_t b) const { return a < b; }
};

// By a number that stands nowhere in the record.
struct Opaque {
  static std::uint64_t mixed(std::uint64_t x) { return (x ^ (x >> 32)) * 0x9e3779b97f4a7c15u; }
  bool operator()(std::uint64_t a, std::uint64_t b) const { return mixed(a) < mixed(b); }
};

class Numbers {
 public:
  std::uint64_t next() {
    x_ ^= x_ << 13;
    x_ ^= x_ >> 7;
    x_ ^= x_ << 17;
    sum_ += x_;
    return x_;
  }
  std::uint64_t sum() const { return sum_; }

 private:
  std::uint64_t x_ = 88172645463325252u;
  std::uint64_t sum_ = 0;
};

using Clock = std::chrono::steady_clock;

// In order, and as many with the same sum as were made.
class Check {
 public:
  template <class Less>
  void take(std::uint64_t number, const Less& less) {
    ordered_ = ordered_ && (pulled_ == 0 || !less(number, last_));
    last_ = number;
    sum_ += number;
    ++pulled_;
  }
  bool is_right(std::uint64_t count, const Numbers& numbers) const {
    return ordered_ && pulled_ == count && sum_ == numbers.sum();
  }

 private:
  std::uint64_t last_ = 0, sum_ = 0, pulled_ = 0;
  bool ordered_ = true;
};

int report(const std::string& mode, Clock::time_point start, std::uint64_t records, bool right,
           const std::string& device = "cpu") {
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "{\"mode\": \"%s\", \"seconds\": %.3f, \"records\": %llu, \"peak_kib\": %ld, "
      "\"right\": %s, \"device\": \"%s\"}\n",
      mode.c_str(), seconds, static_cast<unsigned long long>(records), usage.ru_maxrss,
      right ? "true" : "false", device.c_str());
  return right ? 0 : 1;
}

template <class Order>
int run(const std::string& mode, std::uint64_t count, Order order, const xxl::resources& shared) {
  const auto start = Clock::now();
  const bool tells = shared.options().device != xxl::Device::cpu;
  xxl::sorter<std::uint64_t, Order> sorter(order, shared, {.expected_records = tells ? count : 0});
  Numbers numbers;
  std::vector<std::uint64_t> span(kSpan);
  for (std::uint64_t left = mode == "spans" ? count : 0; left > 0;) {
    const std::size_t filled = std::min<std::uint64_t>(left, kSpan);
    for (std::size_t i = 0; i < filled; ++i) span[i] = numbers.next();
    sorter.push(std::span<const std::uint64_t>(span).first(filled));
    left -= filled;
  }
  for (std::uint64_t left = mode == "spans" ? 0 : count; left > 0; --left)
    sorter.push(numbers.next());
  sorter.sort();
  Check check;
  const auto take = [&](std::uint64_t number) {
    mode == "opaque" ? check.take(number, Opaque()) : check.take(number, Less());
  };
  if (mode == "spans") {
    for (auto sorted = sorter.pull(); !sorted.empty(); sorted = sorter.pull()) {
      for (const std::uint64_t number : sorted) take(number);
    }
  } else {
    for (; !sorter.empty(); ++sorter) take(*sorter);
  }
  return report(mode, start, count, check.is_right(count, numbers), sorter.report().plan.device);
}

int run_file(std::uint64_t count, const xxl::resources& shared) {
  const std::string directory = shared.options().scratch_dirs.front();
  xxl::SortJob job;
  job.inputs = {directory + "/sorter_bench.in"};
  job.output = directory + "/sorter_bench.out";
  job.format = "u64";
  Numbers numbers;
  xxl::file_writer<std::uint64_t> writer(job.inputs.front());
  for (std::uint64_t left = count; left > 0; --left) writer.push(numbers.next());
  writer.close();
  const auto start = Clock::now();
  const xxl::SortReport sorted = xxl::sort_files(job, shared);
  const int result = report("file", start, count, sorted.records_out == count, sorted.plan.device);
  Check check;
  xxl::file_reader<std::uint64_t> reader(job.output);
  for (; !reader.empty(); ++reader) check.take(*reader, Less());
  std::remove(job.inputs.front().c_str());
  std::remove(job.output.c_str());
  return check.is_right(count, numbers) ? result : 1;
}

struct Row {
  std::uint64_t key, number;
  bool operator<(const Row& other) const { return key < other.key; }
};

// The fastest of several times in which `sorted` gives the rows in order to a function.
template <class Sorted>
int time_small(const char* mode, const std::vector<Row>& rows, std::uint64_t sum, Sorted sorted) {
  double fastest = 1e9;
  bool right = true;
  const std::size_t times = std::clamp<std::size_t>(10'000'000 / (rows.size() + 1), 3, 200);
  for (std::size_t i = 0; i < times; ++i) {
    const auto start = Clock::now();
    std::uint64_t count = 0, found = 0, last = 0;
    sorted([&](const Row& row) {
      right = right && row.key >= last;
      last = row.key;
      found += row.key ^ row.number;
      ++count;
    });
    fastest = std::min(fastest, std::chrono::duration<double>(Clock::now() - start).count());
    right = right && count == rows.size() && found == sum;
  }
  std::printf("{\"mode\": \"%s\", \"seconds\": %.7f, \"records\": %zu, \"right\": %s}\n", mode,
              fastest, rows.size(), right ? "true" : "false");
  return right ? 0 : 1;
}

int run_small(std::uint64_t count, const xxl::resources& shared) {
  Numbers numbers;
  std::vector<Row> rows(count);
  std::uint64_t sum = 0;
  for (Row& row : rows) {
    row = {numbers.next(), numbers.next()};
    sum += row.key ^ row.number;
  }
  const auto push_and_pull = [&](auto&& sorter, const auto& take) {
    for (const Row& row : rows) sorter.push(row);
    sorter.sort();
    for (const Row& row : sorter) take(row);
  };
  return time_small("small by key", rows, sum,
                    [&](const auto& take) {
                      push_and_pull(xxl::sorter<Row>(xxl::by(&Row::key), shared), take);
                    }) |
         time_small("small by comparator", rows, sum,
                    [&](const auto& take) {
                      push_and_pull(xxl::sorter<Row, std::less<Row>>({}, shared), take);
                    }) |
         time_small("small std::sort", rows, sum, [&](const auto& take) {
           std::vector<Row> copy = rows;
           std::sort(copy.begin(), copy.end());
           for (const Row& row : copy) take(row);
         });
}

// Sorters that are all there at the same time.
int run_beside(std::uint64_t count, const xxl::resource_options& options) {
  const auto start = Clock::now();
  xxl::resource_options third = options;
  third.users = 3;
  const xxl::resources shared(third);
  using Sorter = xxl::sorter<std::uint64_t>;
  std::array<Sorter, 3> sorters{Sorter({}, shared), Sorter({}, shared), Sorter({}, shared)};
  std::array<Numbers, 3> numbers;
  std::array<Check, 3> checks;
  for (std::uint64_t i = 0; i < count / 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) sorters[j].push(numbers[j].next());
  }
  for (std::uint64_t i = 0; i < count / 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      if (sorters[j].empty()) continue;
      checks[j].take(*sorters[j], Less());
      ++sorters[j];
    }
  }
  bool right = true;
  for (std::size_t j = 0; j < 3; ++j) {
    right = right && sorters[j].empty() && checks[j].is_right(count / 3, numbers[j]);
  }
  return report("beside", start, count, right);
}

int run_in_series(std::uint64_t count, const xxl::resources& shared) {
  const auto start = Clock::now();
  bool right = true;
  for (int i = 0; i < 3; ++i) {
    xxl::sorter<std::uint64_t> sorter({}, shared);
    Numbers numbers;
    Check check;
    for (std::uint64_t left = count / 3; left > 0; --left) sorter.push(numbers.next());
    for (; !sorter.empty(); ++sorter) check.take(*sorter, Less());
    right = right && check.is_right(count / 3, numbers);
  }
  return report("series", start, count, right);
}

// Letters, 20 to 200 of them.
std::string_view next_string(Numbers& numbers, std::string& string) {
  string.resize(20 + numbers.next() % 181);
  for (std::size_t i = 0; i < string.size(); i += 8) {
    const std::uint64_t letters = (numbers.next() & 0x0f0f0f0f0f0f0f0fu) + 0x6161616161616161u;
    std::memcpy(string.data() + i, &letters, std::min<std::size_t>(8, string.size() - i));
  }
  return string;
}

int run_strings(std::uint64_t count, const xxl::resources& shared) {
  const auto start = Clock::now();
  xxl::sorter<std::string> sorter({}, shared);
  Numbers numbers;
  std::string string, last;
  std::uint64_t bytes = 0, pulled = 0;
  for (std::uint64_t left = count; left > 0; --left) {
    sorter.push(next_string(numbers, string));
    bytes += string.size();
  }
  bool ordered = true;
  for (; !sorter.empty(); ++sorter, ++pulled) {
    const std::string_view next = *sorter;
    ordered = ordered && last <= next;
    last = next;
    bytes -= next.size();
  }
  return report("strings", start, count, ordered && pulled == count && bytes == 0);
}

int write_strings(std::uint64_t count) {
  Numbers numbers;
  std::string string;
  for (std::uint64_t left = count; left > 0; --left) {
    next_string(numbers, string);
    string += '\n';
    if (std::fwrite(string.data(), 1, string.size(), stdout) != string.size()) return 1;
  }
  return 0;
}

int run_mode(const std::string& mode, std::uint64_t count, const xxl::resource_options& options) {
  if (mode == "beside") return run_beside(count / 3 * 3, options);
  if (mode == "write-strings") return write_strings(count);
  const xxl::resources shared(options);
  if (mode == "file") return run_file(count, shared);
  if (mode == "small") return run_small(count, shared);
  if (mode == "series") return run_in_series(count / 3 * 3, shared);
  if (mode == "strings") return run_strings(count, shared);
  if (mode == "less") return run(mode, count, Less(), shared);
  if (mode == "opaque") return run(mode, count, Opaque(), shared);
  return run(mode, count, xxl::order<std::uint64_t>(), shared);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc == 5 || argc == 6 ? argv[1] : "";
  const std::string device = argc == 6 ? argv[5] : "cpu";
  constexpr std::string_view kModes[] = {"spans",  "one",     "less",          "opaque", "beside",
                                         "series", "strings", "write-strings", "file",   "small"};
  const bool is_device = device == "cpu" || device == "gpu" || device == "auto";
  if (std::ranges::find(kModes, mode) == std::end(kModes) || !is_device) {
    std::fprintf(stderr,
                 "usage: sorter_bench MODE RECORDS MEMORY_BYTES SCRATCH_DIRECTORY [DEVICE]\n");
    return 2;
  }
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
  const xxl::resource_options options{.memory_bytes = std::strtoull(argv[3], nullptr, 10),
                                      .scratch_dirs = {argv[4]},
                                      .device = device == "gpu"   ? xxl::Device::gpu
                                                : device == "cpu" ? xxl::Device::cpu
                                                                  : xxl::Device::automatic};
  try {
    return run_mode(mode, count, options);
  } catch (const xxl::Error& error) {
    std::fprintf(stderr, "sorter_bench: %s\n", error.what());
    return 1;
  }
}
