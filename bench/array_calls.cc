// Measures the calls on arrays of <xxl/array.h>: sort_array and join_arrays.
//
//     array_calls GB [auto|gpu|cpu]...
//
// Sorts GB (10^9 bytes) of numbers of 8 bytes, of records of 16 bytes, and of records of 32 bytes
// by two members, in place, on the devices named (all); then joins two arrays of records of 16
// bytes, a third of GB in all, by unique keys of 8 bytes in random order. Memory is as malloc gives
// it; with GPUs sorting is repeated in pinned memory, by a sorter that is kept. A row for each:
//
//     what,device,memory,seconds,GB a second,what did it,check
//
// Order and an order-independent checksum of what is sorted, and number and keys of all pairs, are
// checked.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "xxl/array.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

struct Pair {
  std::uint64_t key = 0;
  std::uint64_t value = 0;
};
struct Event {
  float weight = 0;
  std::uint32_t kind = 0;
  std::uint64_t time = 0;
  std::uint64_t number = 0;
  char text[8] = {};
};

void make(std::uint64_t& record, std::uint64_t i) {
  record = mix(i);
}
void make(Pair& record, std::uint64_t i) {
  record = {mix(i), i};
}
void make(Event& record, std::uint64_t i) {
  record = {0, static_cast<std::uint32_t>(mix(i) % 1000), mix(i + 1) >> 40, i, {}};
}

// In order, and where keys are equal in the order of making.
bool in_order(std::uint64_t a, std::uint64_t b) {
  return a <= b;
}
bool in_order(const Pair& a, const Pair& b) {
  return a.key < b.key || (a.key == b.key && a.value < b.value);
}
bool in_order(const Event& a, const Event& b) {
  if (a.kind != b.kind) return a.kind < b.kind;
  return a.time > b.time || (a.time == b.time && a.number < b.number);
}
std::uint64_t sum_of(std::uint64_t record) {
  return mix(record);
}
std::uint64_t sum_of(const Pair& record) {
  return mix(record.key ^ mix(record.value));
}
std::uint64_t sum_of(const Event& record) {
  return mix(record.number ^ mix(record.time));
}

template <class T>
xxl::order<T> order_of() {
  if constexpr (std::is_same_v<T, Pair>) {
    return xxl::by(&Pair::key);
  } else if constexpr (std::is_same_v<T, Event>) {
    return xxl::by(&Event::kind).then(xxl::desc(&Event::time));
  } else {
    return {};
  }
}

// Calls work(first, end) on all processors; returns the sum of what it returns.
template <class Work>
std::uint64_t in_parallel(std::size_t n, Work work) {
  const std::size_t threads = std::max(1u, std::thread::hardware_concurrency());
  std::atomic<std::uint64_t> sum = 0;
  std::vector<std::jthread> running;
  for (std::size_t t = 0; t < threads; ++t) {
    running.emplace_back([&, t] { sum += work(n * t / threads, n * (t + 1) / threads); });
  }
  running.clear();
  return sum;
}

template <class T>
std::uint64_t fill(std::vector<T>& records) {
  return in_parallel(records.size(), [&](std::size_t first, std::size_t end) {
    std::uint64_t sum = 0;
    for (std::size_t i = first; i < end; ++i) {
      make(records[i], i);
      sum += sum_of(records[i]);
    }
    return sum;
  });
}

template <class T>
bool is_sorted(const std::vector<T>& records, std::uint64_t sum) {
  std::atomic<bool> ordered = true;
  return sum == in_parallel(records.size(),
                            [&](std::size_t first, std::size_t end) {
                              std::uint64_t part = 0;
                              for (std::size_t i = first; i < end; ++i) {
                                part += sum_of(records[i]);
                                if (i > 0 && !in_order(records[i - 1], records[i])) ordered = false;
                              }
                              return part;
                            }) &&
         ordered;
}

void print(const char* what, const std::string& device, const char* memory, double seconds,
           double bytes, const xxl::array_report& report, bool correct) {
  std::string names;
  for (const std::string& name : report.devices) names += (names.empty() ? "" : " + ") + name;
  if (!report.no_gpu.empty()) names += " (" + report.no_gpu + ")";
  std::printf("%s,%s,%s,%.3f,%.2f,%s,%s\n", what, device.c_str(), memory, seconds,
              bytes / seconds * 1e-9, names.c_str(), correct ? "correct" : "WRONG");
  std::fflush(stdout);
}

xxl::array_options options_of(const std::string& device) {
  return {.device = device == "gpu"   ? xxl::Device::gpu
                    : device == "cpu" ? xxl::Device::cpu
                                      : xxl::Device::automatic};
}

template <class T>
void sort(const char* what, const std::string& device, double gigabytes) {
  std::vector<T> records(static_cast<std::size_t>(gigabytes * 1e9) / sizeof(T));
  const double bytes = static_cast<double>(records.size() * sizeof(T));
  std::uint64_t sum = fill(records);
  auto start = Clock::now();
  xxl::array_report report = xxl::sort_array(records, order_of<T>(), options_of(device));
  print(what, device, "pageable", seconds_since(start), bytes, report, is_sorted(records, sum));
  if (report.devices.front() == "cpu") return;
  start = Clock::now();
  const xxl::pinned_array pinned(records);
  std::printf("pinned in %.3f s\n", seconds_since(start));
  xxl::array_sorter<T> sorter(order_of<T>(), options_of(device));
  for (const char* memory : {"pinned", "pinned again"}) {
    sum = fill(records);
    start = Clock::now();
    report = sorter.sort(records);
    print(what, device, memory, seconds_since(start), bytes, report, is_sorted(records, sum));
  }
}

void join(const std::string& device, double gigabytes) {
  const auto count = static_cast<std::size_t>(gigabytes * 1e9 / 3 / 2) / sizeof(Pair);
  std::vector<Pair> r(count), s(count);
  for (std::vector<Pair>* side : {&r, &s}) {
    in_parallel(count, [&](std::size_t first, std::size_t end) {
      for (std::size_t i = first; i < end; ++i) {
        // S backwards, and every fourth without partner.
        const std::uint64_t number = side == &r ? i : count - 1 - i + i % 4 / 3 * count;
        (*side)[i] = {mix(number), i};
      }
      return std::uint64_t{0};
    });
  }
  std::atomic<std::uint64_t> rows = 0, wrong = 0;
  const auto start = Clock::now();
  const xxl::array_join_report report = xxl::join_arrays(
      r, xxl::by(&Pair::key), s, xxl::by(&Pair::key),
      [&](std::span<const xxl::index_pair> pairs) {
        std::uint64_t bad = 0;
        for (const xxl::index_pair& pair : pairs) bad += pair.r != count - 1 - pair.s;
        rows += pairs.size();
        wrong += bad;
      },
      xxl::JoinKind::inner, options_of(device));
  const double bytes = 2.0 * static_cast<double>(count * sizeof(Pair));
  print("join", device, "pageable", seconds_since(start), bytes, report,
        rows == count - count / 4 && wrong == 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: array_calls GB [auto|gpu|cpu]...\n");
    return 2;
  }
  const double gigabytes = std::stod(argv[1]);
  std::vector<std::string> devices(argv + 2, argv + argc);
  if (devices.empty()) devices = {"gpu", "cpu"};
  for (const std::string& device : devices) {
    try {
      sort<std::uint64_t>("u64", device, gigabytes);
      sort<Pair>("pairs", device, gigabytes);
      sort<Event>("events", device, gigabytes);
      join(device, gigabytes);
    } catch (const std::exception& error) {
      std::printf("%s: %s\n", device.c_str(), error.what());
    }
  }
}
