// Compares prefetch_schedule() with the function of the same purpose in STXXL 1.4.1: how many steps
// the fetches take with each, of how many at least, and how long the schedule takes to compute.
//
// A program by itself, since it needs STXXL (Debian: libstxxl-dev). From the top of the repository:
//   g++ -std=c++20 -O2 -I. -Isrc bench/prefetch_vs_stxxl.cc src/merge/prefetch_schedule.cc
//       src/base/error.cc -o prefetch_vs_stxxl -lstxxl
#include <stxxl/bits/algo/async_schedule.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "merge/prefetch_schedule.h"

namespace {

using Disks = std::vector<std::uint8_t>;
using Order = std::vector<std::uint32_t>;

Disks random_disks(std::size_t blocks, unsigned disks, xxl::Random& random) {
  Disks disk_of(blocks);
  for (std::uint8_t& disk : disk_of) disk = static_cast<std::uint8_t>(random.below(disks));
  return disk_of;
}

// Runs striped by randomized cyclic allocation, needed in random interleaving.
Disks merged_runs(std::size_t blocks, std::size_t runs, unsigned disks, xxl::Random& random) {
  std::vector<Disks> permutations(runs, Disks(disks));
  for (Disks& permutation : permutations) {
    std::iota(permutation.begin(), permutation.end(), std::uint8_t{0});
    std::shuffle(permutation.begin(), permutation.end(), random);
  }
  std::vector<std::size_t> next(runs, 0);
  Disks disk_of(blocks);
  for (std::uint8_t& disk : disk_of) {
    const std::size_t run = random.below(runs);
    disk = permutations[run][next[run]++ % disks];
  }
  return disk_of;
}

Order stxxl_schedule(const Disks& disk_of, unsigned disks, std::size_t buffer_blocks) {
  const std::vector<stxxl::int_type> in(disk_of.begin(), disk_of.end());
  std::vector<stxxl::int_type> out(in.size());
  stxxl::compute_prefetch_schedule(in.data(), in.data() + in.size(), out.data(),
                                   static_cast<stxxl::int_type>(buffer_blocks),
                                   static_cast<stxxl::int_type>(disks));
  return Order(out.begin(), out.end());
}

template <class Schedule>
void report(const char* name, const Disks& disk_of, unsigned disks, std::size_t buffer_blocks,
            Schedule schedule) {
  const auto start = std::chrono::steady_clock::now();
  const Order order = schedule(disk_of, disks, buffer_blocks);
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
  const std::optional<std::uint64_t> steps = xxl::fetch_steps(disk_of, disks, buffer_blocks, order);
  std::vector<std::size_t> load(disks, 0);
  for (const std::uint8_t disk : disk_of) ++load[disk];
  const std::size_t least = *std::max_element(load.begin(), load.end());
  std::printf("  %s %s (%.0f ns)", name,
              steps ? std::to_string(static_cast<double>(*steps) / static_cast<double>(least))
                          .substr(0, 5)
                          .c_str()
                    : "stuck",
              time.count() / static_cast<double>(disk_of.size()));
}

void compare(const char* sequence, const Disks& disk_of, unsigned disks,
             std::size_t buffer_blocks) {
  std::printf("%-6s D=%-2u m=%-4zu", sequence, disks, buffer_blocks);
  report("xxl", disk_of, disks, buffer_blocks, [](const Disks& d, unsigned n, std::size_t blocks) {
    return xxl::prefetch_schedule(d, n, blocks);
  });
  report("stxxl", disk_of, disks, buffer_blocks, stxxl_schedule);
  report("order of need", disk_of, disks, buffer_blocks, [](const Disks& d, unsigned, std::size_t) {
    Order order(d.size());
    std::iota(order.begin(), order.end(), 0u);
    return order;
  });
  std::printf("\n");
}

}  // namespace

int main() {
  constexpr std::size_t kBlocks = 100000;
  xxl::Random random(1);
  std::printf("steps / blocks of the fullest disk (nanoseconds a block to compute)\n");
  for (const unsigned disks : {2u, 4u, 8u, 16u}) {
    const Disks uniform = random_disks(kBlocks, disks, random);
    const Disks merge = merged_runs(kBlocks, 100, disks, random);
    for (const std::size_t factor : {2u, 4u, 8u, 16u}) {
      compare("random", uniform, disks, factor * disks);
      compare("merge", merge, disks, factor * disks);
    }
  }
}
