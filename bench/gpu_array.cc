// Sorts arrays in pinned host memory on GPUs and measures it, memory to memory.
//
//     gpu_array OUTPUT.csv CASE...
//
// CASE: type:GB:gpus:strategy:distribution:runs, for example u64:16:1:partition:uniform:1. type is
// u32, u64, f64 or kv64; GB are 10^9 bytes in all; runs > 1 sorts as many separate arrays in a
// stream. With strategy `independent` and one run, each GPU sorts a part and the host merges them
// (gnu_parallel::multiway_merge). Each case is run three times; the array is made anew before and
// order and checksum are checked after each. Writes a row for each repeat.
#include <omp.h>
#include <sys/mman.h>
#include <parallel/algorithm>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/time_line.h"
#include "gpu/array/array_sort.h"
#include "gpu/cuda/cuda_device.h"
#include "record/record_format.h"

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
      return std::uint64_t{0};
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

template <class T>
void merge_on_host(std::byte* from, std::byte* to, std::size_t n, std::size_t parts) {
  std::vector<std::pair<T*, T*>> sequences;
  for (std::size_t p = 0; p < parts; ++p) {
    auto* all = reinterpret_cast<T*>(from);
    sequences.push_back({all + n * p / parts, all + n * (p + 1) / parts});
  }
  __gnu_parallel::multiway_merge(sequences.begin(), sequences.end(), reinterpret_cast<T*>(to),
                                 static_cast<std::ptrdiff_t>(n), std::less<T>(),
                                 __gnu_parallel::parallel_tag());
}

void run(const std::string& text, std::vector<std::unique_ptr<Device>>& owned, std::byte* memory,
         std::byte* spare, std::ofstream& csv) {
  std::stringstream stream(text);
  std::vector<std::string> f;
  for (std::string field; std::getline(stream, field, ':');) f.push_back(field);
  const std::string type = f.at(0), strategy = f.at(3), distribution = f.at(4);
  const Type kind = type_of(type);
  const std::size_t gpus = std::stoul(f.at(2));
  std::size_t runs = std::stoul(f.at(5));
  const bool merges = strategy == "independent" && runs == 1 && gpus > 1;
  if (merges) runs = gpus;
  const auto n = static_cast<std::size_t>(std::stod(f.at(1)) * 1e9) / kind.bytes / runs * runs;
  const std::size_t bytes = n * kind.bytes;
  std::vector<Device*> devices;
  for (std::size_t i = 0; i < gpus; ++i) devices.push_back(owned.at(i).get());
  ArraySortOptions options;
  options.strategy = strategy == "independent" ? MultiGpu::independent
                     : strategy == "p2p-merge" ? MultiGpu::p2p_merge
                                               : MultiGpu::partition;
  options.chunks = runs > 1 && !merges ? 3 : 1;
  IntervalList time_line;
  const char* const time_line_file = std::getenv("TIME_LINE");
  if (time_line_file != nullptr) options.time_line = &time_line;
  const KeyLayout layout(parse_record_format(type));
  const auto setup = Clock::now();
  ArraySorter sorter(devices, layout, bytes / runs, options);
  const double setup_seconds = seconds_since(setup);
  for (int repeat = 0; repeat < 3; ++repeat) {
    make(memory, n, type, distribution);
    const std::uint64_t before = checksum(memory, n, kind.bytes);
    std::vector<SortedArray> arrays;
    for (std::size_t r = 0; r < runs; ++r) {
      std::byte* const at = memory + bytes / runs * r;
      arrays.push_back({{at, bytes / runs}, {at, bytes / runs}});
    }
    const auto start = Clock::now();
    sorter.sort(arrays);
    const double sort_seconds = seconds_since(start);
    std::byte* result = memory;
    if (merges) {
      if (type == "u32") merge_on_host<std::uint32_t>(memory, spare, n, runs);
      if (type == "u64") merge_on_host<std::uint64_t>(memory, spare, n, runs);
      result = spare;
    }
    const double seconds = seconds_since(start);
    bool correct = checksum(result, n, kind.bytes) == before;
    const std::size_t checked = merges ? 1 : runs;
    for (std::size_t r = 0; r < checked; ++r) {
      correct &= disorder(result + bytes / checked * r, n / checked, kind) == 0;
    }
    char row[256];
    std::snprintf(row, sizeof row, "%s,%.3f,%zu,%s,%s,%zu,%d,%.4f,%.4f,%.2f,%.3f,%s", type.c_str(),
                  static_cast<double>(bytes) * 1e-9, gpus, strategy.c_str(), distribution.c_str(),
                  merges ? 1 : runs, repeat, seconds, sort_seconds,
                  static_cast<double>(bytes) * 1e-9 / seconds, setup_seconds,
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
    bool merges = false;
    for (int i = 2; i < argc; ++i) {
      const std::string text = argv[i];
      most = std::max(most, std::stod(text.substr(text.find(':') + 1)));
      merges |= text.find("independent") != std::string::npos && text.ends_with(":1");
    }
    const auto bytes = static_cast<std::size_t>(most * 1e9);
    const auto start = Clock::now();
    PinnedArray memory(bytes, *devices.front());
    std::unique_ptr<PinnedArray> spare;
    if (merges) spare = std::make_unique<PinnedArray>(bytes, *devices.front());
    std::printf("pinned %.0f GB in %.1f s\n", most, seconds_since(start));
    std::ofstream csv(argv[1]);
    csv << "type,GB,gpus,strategy,distribution,runs,repeat,seconds,sort_seconds,GB_per_s,setup,"
           "check\n";
    for (int i = 2; i < argc; ++i) {
      try {
        run(argv[i], devices, memory.data(), spare ? spare->data() : nullptr, csv);
      } catch (const std::exception& error) {
        std::printf("%s: %s\n", argv[i], error.what());
      }
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_array: %s\n", error.what());
    return 2;
  }
}
