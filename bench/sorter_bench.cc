// Pushes pseudo-random numbers into a sorter, pulls them, and checks what comes out.
//
//   sorter_bench spans|one|less|opaque RECORDS MEMORY_BYTES SCRATCH_DIRECTORY
//
// spans, one: by keys, in spans or one by one; less: by a comparator; opaque: by a comparator that
// nothing but comparing tells anything about. Prints one line of JSON.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

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

template <class Order>
int run(const std::string& mode, std::uint64_t count, Order order, const xxl::resources& shared) {
  const auto start = std::chrono::steady_clock::now();
  xxl::sorter<std::uint64_t, Order> sorter(order, shared);
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
  std::uint64_t last = 0, sum = 0, pulled = 0;
  bool ordered = true;
  const auto take = [&](std::uint64_t number) {
    ordered =
        ordered && (mode == "opaque" ? pulled == 0 || !Opaque()(number, last) : number >= last);
    last = number;
    sum += number;
    ++pulled;
  };
  if (mode == "spans") {
    for (auto sorted = sorter.pull(); !sorted.empty(); sorted = sorter.pull()) {
      for (const std::uint64_t number : sorted) take(number);
    }
  } else {
    for (; !sorter.empty(); ++sorter) take(*sorter);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const bool right = ordered && pulled == count && sum == numbers.sum();
  std::printf("{\"mode\": \"%s\", \"seconds\": %.3f, \"records\": %llu, \"right\": %s}\n",
              mode.c_str(), seconds, static_cast<unsigned long long>(pulled),
              right ? "true" : "false");
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc == 5 ? argv[1] : "";
  if (mode != "spans" && mode != "one" && mode != "less" && mode != "opaque") {
    std::fprintf(
        stderr,
        "usage: sorter_bench spans|one|less|opaque RECORDS MEMORY_BYTES SCRATCH_DIRECTORY\n");
    return 2;
  }
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
  const xxl::resources shared(
      {.memory_bytes = std::strtoull(argv[3], nullptr, 10), .scratch_dirs = {argv[4]}});
  if (mode == "less") return run(mode, count, Less(), shared);
  if (mode == "opaque") return run(mode, count, Opaque(), shared);
  return run(mode, count, xxl::order<std::uint64_t>(), shared);
}
