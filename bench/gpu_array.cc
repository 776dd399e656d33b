// Sorts arrays in host memory on GPUs and measures it, memory to memory.
//
//     gpu_array OUTPUT.csv CASE...
//
// CASE: type:GB:gpus:strategy:distribution:runs[:memory[:limit[:repeats]]], for example
// u64:16:1:partition:uniform:1.
//
//   type          u32, u64, f64 or kv64
//   GB            10^9 bytes in all
//   gpus          N, or N+M: N that sort, and M whose links to the host are used, too
//   strategy      partition, p2p-merge, independent (HET sort if there is one run), cpu, or copy:
//                 the bound, all of it copied to the GPUs at once, then all of it back; with more
//                 than one run both at the same time
//   distribution  uniform, skewed, sorted, reverse, nearly, constant
//   runs          > 1: as many separate arrays in a stream
//   memory        pinned (the default), or pageable
//   limit         GB of each GPU's memory; 0: what is free
//   repeats       3 without
//
// The array is made anew before and order and checksum are checked after each sort. Writes a row
// for each repeat.
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/time_line.h"
#include "gpu/array/array_sort.h"
#include "gpu/array/het_sort.h"
#include "gpu/cuda/cuda_device.h"
#include "record/record_format.h"
#include "sort/cpu_array_sorter.h"

namespace {

using namespace xxl;
using namespace xxl::gpu;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 31;
  x *= 0x7fb5d329728ea185u;
  x ^= x >> 27;
  x *= 0x81dadef4bc2dd44du;
  return x ^ (x >> 33);
}

// Calls work(first, end) on all processors; returns the sum of what it returns.
template <class Work>
std::uint64_t in_parallel(std::size_t n, Work work) {
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::uint64_t> results(threads, 0);
  std::vector<std::thread> running;
  for (unsigned t = 0; t < threads; ++t) {
    running.emplace_back([&, t] { results[t] = work(n * t / threads, n * (t + 1) / threads); });
  }
  std::uint64_t sum = 0;
  for (unsigned t = 0; t < threads; ++t) {
    running[t].join();
    sum += results[t];
  }
  return sum;
}

// The value of item `i` of `n`, uniform in 64 bits or as the distribution says.
std::uint64_t value_of(const std::string& distribution, std::uint64_t i, std::uint64_t n) {
  const std::uint64_t random = mix(i + 0x9e3779b97f4a7c15u);
  const double part = static_cast<double>(i) / static_cast<double>(n);
  const auto scaled = [](double x) {
    return static_cast<std::uint64_t>(x * 18446744073709549568.0);
  };
  if (distribution == "uniform") return random;
  if (distribution == "sorted") return scaled(part);
  if (distribution == "reverse") return scaled(1 - part);
  if (distribution == "constant") return 0x4242424242424242u;
  // Half of all items in a 2^-10th of the keys, and so on: what splitters by leading bits stumble
  // on.
  if (distribution == "skewed") return random >> (mix(random) % 40);
  if (distribution == "nearly") return scaled(part) ^ (random & 0xffffffffu);
  throw std::runtime_error("no such distribution: " + distribution);
}

struct Type {
  std::size_t bytes;
  bool is_float;
};

Type type_of(const std::string& name) {
  if (name == "u32") return {4, false};
  if (name == "u64") return {8, false};
  if (name == "f64") return {8, true};
  if (name == "kv64") return {16, false};
  throw std::runtime_error("no such type: " + name);
}

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

void make(std::byte* array, std::size_t n, const std::string& type,
          const std::string& distribution) {
  const std::size_t bytes = type_of(type).bytes;
  in_parallel(n, [&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      const std::uint64_t value = value_of(distribution, i, n);
      if (type == "u32") {
        const auto key = static_cast<std::uint32_t>(value >> 32);
        std::memcpy(array + i * bytes, &key, 4);
      } else if (type == "f64") {
        const double key = static_cast<double>(static_cast<std::int64_t>(value)) * 1e-9;
        std::memcpy(array + i * bytes, &key, 8);
      } else {
        std::memcpy(array + i * bytes, &value, 8);
        if (bytes == 16) std::memcpy(array + i * bytes + 8, &i, 8);
      }
    }
    return std::uint64_t{0};
  });
}

std::uint64_t checksum(const std::byte* array, std::size_t n, std::size_t bytes) {
  return in_parallel(n, [&](std::size_t first, std::size_t end) {
    std::uint64_t sum = 0;
    for (std::size_t i = first; i < end; ++i) {
      const std::byte* item = array + i * bytes;
      std::uint64_t value = bytes == 4 ? load<std::uint32_t>(item) : load<std::uint64_t>(item);
      if (bytes == 16) value = mix(value) ^ load<std::uint64_t>(item + 8);
      sum += mix(value);
    }
    return sum;
  });
}

// Places where an item is smaller than the one before; kv64: or equal but of a later place.
std::uint64_t disorder(const std::byte* array, std::size_t n, const Type& type) {
  return in_parallel(n, [&](std::size_t first, std::size_t end) {
    std::uint64_t wrong = 0;
    for (std::size_t i = std::max<std::size_t>(first, 1); i < end; ++i) {
      const std::byte *a = array + (i - 1) * type.bytes, *b = array + i * type.bytes;
      if (type.bytes == 4) {
        wrong += load<std::uint32_t>(b) < load<std::uint32_t>(a);
      } else if (type.is_float) {
        wrong += load<double>(b) < load<double>(a);
      } else {
        const auto x = load<std::uint64_t>(a), y = load<std::uint64_t>(b);
        wrong += y < x;
        if (type.bytes == 16 && x == y) {
          wrong += load<std::uint64_t>(b + 8) < load<std::uint64_t>(a + 8);
        }
      }
    }
    return wrong;
  });
}

class Array {
 public:
  Array(std::size_t bytes, Device* pins) : bytes_(bytes), pins_(pins) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no memory");
    madvise(memory, bytes, MADV_HUGEPAGE);
    data_ = static_cast<std::byte*>(memory);
    in_parallel(bytes >> 12, [&](std::size_t first, std::size_t end) {
      for (std::size_t page = first; page < end; ++page) data_[page << 12] = std::byte{1};
      return std::uint64_t{0};
    });
    if (pins_ != nullptr) pins_->pin({data_, bytes_});
  }
  ~Array() {
    if (pins_ != nullptr) pins_->unpin({data_, bytes_});
    munmap(data_, bytes_);
  }
  std::byte* data() const { return data_; }

 private:
  std::byte* data_;
  std::size_t bytes_;
  Device* pins_;
};

struct Case {
  explicit Case(const std::string& text) {
    std::stringstream stream(text);
    std::vector<std::string> f;
    for (std::string field; std::getline(stream, field, ':');) f.push_back(field);
    type = f.at(0);
    gb = std::stod(f.at(1));
    gpus = std::stoul(f.at(2));
    const std::size_t plus = f.at(2).find('+');
    if (plus != std::string::npos) idle = std::stoul(f.at(2).substr(plus + 1));
    strategy = f.at(3);
    distribution = f.at(4);
    runs = std::stoul(f.at(5));
    if (f.size() > 6) memory = f[6];
    if (f.size() > 7) limit_gb = std::stod(f[7]);
    if (f.size() > 8) repeats = std::stoi(f[8]);
    const bool on_gpus = strategy != "cpu" && strategy != "copy";
    if (idle > 0 && (!on_gpus || (strategy == "independent" && runs == 1))) {
      throw std::runtime_error(strategy + " does not use idle GPUs");
    }
    if (limit_gb > 0 && !on_gpus) throw std::runtime_error(strategy + " has no limit");
  }

  std::string type, strategy, distribution;
  double gb = 0;
  std::size_t gpus = 1, idle = 0, runs = 1;
  std::string memory = "pinned";
  double limit_gb = 0;
  int repeats = 3;
};

constexpr std::size_t kCopyBytes = std::size_t{256} << 20;

// Copies the GPUs' parts of `bytes` at `host` to them, or back.
void copy_all(std::vector<Device*>& devices, std::vector<DeviceMemory>& memory, std::byte* host,
              std::size_t bytes, bool in) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    threads.emplace_back([&, i] {
      const auto stream = devices[i]->make_stream();
      const std::size_t first = bytes / devices.size() * i, share = bytes / devices.size();
      for (std::size_t at = 0; at < share; at += kCopyBytes) {
        const std::size_t count = std::min(kCopyBytes, share - at);
        std::byte* const device = memory[i].data() + at % memory[i].size();
        if (in) {
          stream->copy_in(device, host + first + at, count);
        } else {
          stream->copy_out(host + first + at, device, count);
        }
      }
      stream->finish();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Seconds of the copies alone.
double copy_seconds(const Case& c, std::vector<Device*>& devices, std::byte* host,
                    std::size_t bytes) {
  std::vector<DeviceMemory> memory, back;
  for (Device* device : devices) {
    memory.emplace_back(*device, 16 * kCopyBytes);
    back.emplace_back(*device, 16 * kCopyBytes);
  }
  bytes = bytes / devices.size() * devices.size();
  const auto start = Clock::now();
  if (c.runs > 1) {
    std::thread in([&] { copy_all(devices, memory, host, bytes, true); });
    copy_all(devices, back, host, bytes, false);
    in.join();
  } else {
    copy_all(devices, memory, host, bytes, true);
    copy_all(devices, memory, host, bytes, false);
  }
  return seconds_since(start);
}

// Sorts arrays in one of the ways.
class Sorter {
 public:
  Sorter(const Case& c, const std::vector<Device*>& devices, const std::vector<Device*>& idle,
         std::size_t bytes, TimeLine* time_line)
      : layout_(parse_record_format(c.type)) {
    const auto memory = static_cast<std::uint64_t>(c.limit_gb * 1e9);
    const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
    if (c.strategy == "cpu") {
      cpu_ = std::make_unique<CpuArraySorter>(layout_, threads);
    } else if (c.strategy == "independent" && c.runs == 1) {
      het_ = std::make_unique<HetSorter>(devices, layout_, bytes, memory, threads, time_line);
    } else {
      ArraySortOptions options;
      options.strategy = c.strategy == "independent" ? MultiGpu::independent
                         : c.strategy == "p2p-merge" ? MultiGpu::p2p_merge
                                                     : MultiGpu::partition;
      options.memory_bytes = memory;
      options.chunks = c.runs > 1 ? 3 : 1;
      options.idle = idle;
      options.time_line = time_line;
      gpus_ = std::make_unique<ArraySorter>(devices, layout_, bytes / c.runs, options);
    }
  }

  void sort(std::span<const SortedArray> arrays) {
    if (gpus_) {
      gpus_->sort(arrays);
      return;
    }
    for (const SortedArray& array : arrays) {
      if (het_) het_->sort(array);
      if (cpu_) cpu_->sort(array.from, array.to);
    }
  }

 private:
  KeyLayout layout_;
  std::unique_ptr<ArraySorter> gpus_;
  std::unique_ptr<HetSorter> het_;
  std::unique_ptr<CpuArraySorter> cpu_;
};

void run(const std::string& text, std::vector<std::unique_ptr<Device>>& owned, std::byte* memory,
         std::ofstream& csv) {
  const Case c(text);
  const Type kind = type_of(c.type);
  const auto n = static_cast<std::size_t>(c.gb * 1e9) / kind.bytes / c.runs * c.runs;
  const std::size_t bytes = n * kind.bytes;
  std::vector<Device*> devices, idle;
  for (std::size_t i = 0; i < c.gpus; ++i) devices.push_back(owned.at(i).get());
  for (std::size_t i = 0; i < c.idle; ++i) idle.push_back(owned.at(c.gpus + i).get());
  IntervalList time_line;
  const char* const time_line_file = std::getenv("TIME_LINE");
  const auto setup = Clock::now();
  std::unique_ptr<Sorter> sorter;
  if (c.strategy != "copy") {
    sorter = std::make_unique<Sorter>(c, devices, idle, bytes,
                                      time_line_file != nullptr ? &time_line : nullptr);
  }
  const double setup_seconds = seconds_since(setup);
  for (int repeat = 0; repeat < c.repeats; ++repeat) {
    double seconds = 0;
    bool correct = true;
    if (sorter == nullptr) {
      seconds = copy_seconds(c, devices, memory, bytes);
    } else {
      make(memory, n, c.type, c.distribution);
      const std::uint64_t before = checksum(memory, n, kind.bytes);
      std::vector<SortedArray> arrays;
      for (std::size_t r = 0; r < c.runs; ++r) {
        std::byte* const at = memory + bytes / c.runs * r;
        arrays.push_back({{at, bytes / c.runs}, {at, bytes / c.runs}});
      }
      const auto start = Clock::now();
      sorter->sort(arrays);
      seconds = seconds_since(start);
      correct = checksum(memory, n, kind.bytes) == before;
      for (std::size_t r = 0; r < c.runs; ++r) {
        correct &= disorder(memory + bytes / c.runs * r, n / c.runs, kind) == 0;
      }
    }
    char row[256];
    std::snprintf(row, sizeof row, "%s,%.3f,%zu,%zu,%s,%s,%zu,%s,%.1f,%d,%.4f,%.2f,%.3f,%s",
                  c.type.c_str(), static_cast<double>(bytes) * 1e-9, c.gpus, c.idle,
                  c.strategy.c_str(), c.distribution.c_str(), c.runs, c.memory.c_str(), c.limit_gb,
                  repeat, seconds, static_cast<double>(bytes) * 1e-9 / seconds, setup_seconds,
                  correct ? "correct" : "WRONG");
    csv << row << std::endl;
    std::printf("%s\n", row);
    std::fflush(stdout);
  }
  if (time_line_file != nullptr) {
    std::ofstream out(time_line_file);
    for (const auto& interval : time_line.intervals()) {
      out << interval.track << ',' << interval.what << ',' << interval.start << ',' << interval.end
          << '\n';
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::string reason;
    auto devices = cuda_devices(reason);
    if (devices.empty()) throw std::runtime_error(reason);
    double most = 0;
    for (int i = 2; i < argc; ++i) most = std::max(most, Case(argv[i]).gb);
    std::ofstream csv(argv[1]);
    csv << "type,GB,gpus,idle,strategy,distribution,runs,memory,limit,repeat,seconds,GB_per_s,"
           "setup,check\n";
    // First those in pinned memory.
    for (const bool pinned : {true, false}) {
      std::unique_ptr<Array> memory;
      for (int i = 2; i < argc; ++i) {
        try {
          const Case c(argv[i]);
          if ((c.memory == "pinned") != pinned) continue;
          if (memory == nullptr) {
            const auto start = Clock::now();
            memory = std::make_unique<Array>(static_cast<std::size_t>(most * 1e9),
                                             pinned ? devices.front().get() : nullptr);
            std::printf("%s %.0f GB in %.1f s\n", c.memory.c_str(), most, seconds_since(start));
          }
          run(argv[i], devices, memory->data(), csv);
        } catch (const std::exception& error) {
          std::printf("%s: %s\n", argv[i], error.what());
        }
      }
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_array: %s\n", error.what());
    return 2;
  }
}
