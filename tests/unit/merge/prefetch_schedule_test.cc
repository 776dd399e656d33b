#include "merge/prefetch_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <deque>
#include <numeric>
#include <optional>
#include <vector>

#include "base/random.h"
#include "base/units.h"

namespace xxl {
namespace {

using Disks = std::vector<std::uint8_t>;
using Order = std::vector<std::uint32_t>;

// The fewest steps in which any strategy fetches the sequence: breadth-first search over the sets
// of fetched blocks. A step fetches at most one block from each disk; blocks that were fetched and
// not yet used, which means that one before them is missing, occupy buffers.
unsigned fewest_steps(const Disks& disk_of, unsigned disks, unsigned buffer_blocks) {
  const unsigned blocks = static_cast<unsigned>(disk_of.size());
  std::vector<bool> seen(std::size_t{1} << blocks, false);
  std::vector<unsigned> now{0};
  for (unsigned steps = 0;; ++steps) {
    std::vector<unsigned> next;
    for (const unsigned fetched : now) {
      if (fetched == (1u << blocks) - 1) return steps;
      const auto used = static_cast<unsigned>(std::countr_one(fetched));
      const unsigned occupied = static_cast<unsigned>(std::popcount(fetched)) - used;
      // All choices of at most one missing block for each disk in turn.
      std::vector<unsigned> choices{0};
      for (unsigned disk = 0; disk < disks; ++disk) {
        const std::size_t without = choices.size();
        for (unsigned block = used; block < blocks; ++block) {
          if (disk_of[block] != disk || (fetched >> block & 1) != 0) continue;
          for (std::size_t i = 0; i < without; ++i) choices.push_back(choices[i] | 1u << block);
        }
      }
      for (const unsigned choice : choices) {
        const auto count = static_cast<unsigned>(std::popcount(choice));
        if (occupied + count > buffer_blocks || seen[fetched | choice]) continue;
        seen[fetched | choice] = true;
        next.push_back(fetched | choice);
      }
    }
    now.swap(next);
  }
}

// The number of steps in which blocks issued in `order` are fetched, when every disk serves what is
// queued there first come, first served, one block a step, and the merge uses blocks as soon as it
// can; nothing when `order` gets stuck.
std::optional<std::uint64_t> fetch_steps(const Disks& disk_of, unsigned disks,
                                         std::size_t buffer_blocks, const Order& order) {
  std::vector<std::deque<std::uint32_t>> queues(disks);
  std::vector<bool> fetched(disk_of.size(), false);
  std::size_t issued = 0;
  std::size_t used = 0;
  std::uint64_t steps = 0;
  while (used < disk_of.size()) {
    for (; issued < order.size() && issued - used < buffer_blocks; ++issued) {
      queues[disk_of[order[issued]]].push_back(order[issued]);
    }
    bool idle = true;
    for (std::deque<std::uint32_t>& queue : queues) {
      if (queue.empty()) continue;
      idle = false;
      fetched[queue.front()] = true;
      queue.pop_front();
    }
    if (idle) return std::nullopt;
    ++steps;
    while (used < disk_of.size() && fetched[used]) ++used;
  }
  return steps;
}

Disks random_sequence(std::size_t blocks, unsigned disks, Random& random) {
  Disks disk_of(blocks);
  for (std::uint8_t& disk : disk_of) disk = static_cast<std::uint8_t>(random.below(disks));
  return disk_of;
}

// As a merge of runs that are striped by randomized cyclic allocation needs them: each run's blocks
// in turn, the runs in random interleaving.
Disks merge_sequence(std::size_t runs, std::size_t blocks_per_run, unsigned disks, Random& random) {
  std::vector<Disks> permutations(runs, Disks(disks));
  std::vector<std::size_t> run_of;
  for (std::size_t run = 0; run < runs; ++run) {
    std::iota(permutations[run].begin(), permutations[run].end(), std::uint8_t{0});
    std::shuffle(permutations[run].begin(), permutations[run].end(), random);
    run_of.insert(run_of.end(), blocks_per_run, run);
  }
  std::shuffle(run_of.begin(), run_of.end(), random);
  std::vector<std::size_t> next(runs, 0);
  Disks disk_of;
  for (const std::size_t run : run_of) disk_of.push_back(permutations[run][next[run]++ % disks]);
  return disk_of;
}

void expect_valid(const Disks& disk_of, unsigned disks, const Order& order) {
  ASSERT_EQ(order.size(), disk_of.size());
  std::vector<bool> seen(order.size(), false);
  std::vector<std::int64_t> last(disks, -1);
  for (const std::uint32_t block : order) {
    ASSERT_LT(block, order.size());
    EXPECT_FALSE(seen[block]);
    seen[block] = true;
    EXPECT_LT(last[disk_of[block]], block);  // each disk in the order of need
    last[disk_of[block]] = block;
  }
}

TEST(PrefetchSchedule, of_one_disk_is_the_order_of_need) {
  for (const std::size_t buffer_blocks : {1u, 2u, 100u}) {
    const Order order = prefetch_schedule(Disks(50, 0), 1, buffer_blocks);
    for (std::uint32_t i = 0; i < 50; ++i) EXPECT_EQ(order[i], i);
  }
}

TEST(PrefetchSchedule, of_one_disk_in_use_is_the_order_of_need) {
  const Order order = prefetch_schedule(Disks(50, 2), 4, 8);
  for (std::uint32_t i = 0; i < 50; ++i) EXPECT_EQ(order[i], i);
}

TEST(PrefetchSchedule, of_nothing_is_empty) {
  EXPECT_TRUE(prefetch_schedule({}, 3, 4).empty());
  EXPECT_EQ(fetch_steps({}, 3, 4, {}), 0u);
}

TEST(PrefetchSchedule, does_the_example_of_the_header) {
  const Disks disk_of{0, 0, 1, 0, 1, 1};
  const Order order = prefetch_schedule(disk_of, 2, 3);
  EXPECT_EQ(order, (Order{0, 2, 1, 4, 3, 5}));
  EXPECT_EQ(fetch_steps(disk_of, 2, 3, order), 3u);
  EXPECT_EQ(fetch_steps(disk_of, 2, 3, Order{0, 1, 2, 3, 4, 5}), 4u);
}

TEST(PrefetchSchedule, takes_the_fewest_steps_on_every_short_sequence_of_two_disks) {
  for (unsigned blocks = 1; blocks <= 8; ++blocks) {
    for (unsigned bits = 0; bits < (1u << blocks); ++bits) {
      Disks disk_of;
      for (unsigned i = 0; i < blocks; ++i) disk_of.push_back(bits >> i & 1);
      for (unsigned buffer_blocks = 1; buffer_blocks <= 5; ++buffer_blocks) {
        const Order order = prefetch_schedule(disk_of, 2, buffer_blocks);
        expect_valid(disk_of, 2, order);
        ASSERT_EQ(fetch_steps(disk_of, 2, buffer_blocks, order),
                  fewest_steps(disk_of, 2, buffer_blocks));
      }
    }
  }
}

TEST(PrefetchSchedule, takes_the_fewest_steps_on_random_sequences_of_three_disks) {
  Random random(5);
  for (int i = 0; i < 300; ++i) {
    const Disks disk_of = random_sequence(5 + random.below(6), 3, random);
    const auto buffer_blocks = static_cast<unsigned>(1 + random.below(6));
    const Order order = prefetch_schedule(disk_of, 3, buffer_blocks);
    expect_valid(disk_of, 3, order);
    ASSERT_EQ(fetch_steps(disk_of, 3, buffer_blocks, order),
              fewest_steps(disk_of, 3, buffer_blocks));
  }
}

// Whatever the disks do (here: they finish in random order), the block needed next has been issued
// whenever all buffers are taken.
TEST(PrefetchSchedule, never_gets_stuck) {
  Random random(6);
  for (int i = 0; i < 200; ++i) {
    const auto disks = static_cast<unsigned>(1 + random.below(9));
    const std::size_t buffer_blocks = 1 + random.below(3 * disks);
    const Disks disk_of = random_sequence(random.below(400), disks, random);
    const Order order = prefetch_schedule(disk_of, disks, buffer_blocks);
    expect_valid(disk_of, disks, order);
    std::vector<bool> issued(order.size(), false);
    std::size_t next = 0;
    for (std::size_t used = 0; used < order.size(); ++used) {
      // Issue a random part of what may be issued, but at least as much as is needed to go on.
      while (next < order.size() && next - used < buffer_blocks &&
             (!issued[used] || random.below(2) == 0)) {
        issued[order[next++]] = true;
      }
      ASSERT_TRUE(issued[used]) << "all buffers are taken and block " << used << " is not issued";
    }
  }
}

TEST(PrefetchSchedule, never_gets_stuck_with_blocks_of_different_sizes) {
  Random random(9);
  for (int i = 0; i < 200; ++i) {
    const auto disks = static_cast<unsigned>(2 + random.below(8));
    const std::size_t buffers = 1 + random.below(20 * disks);
    const Disks disk_of = random_sequence(random.below(400), disks, random);
    std::vector<std::uint32_t> size_of;
    for (std::size_t block = 0; block < disk_of.size(); ++block) {
      size_of.push_back(static_cast<std::uint32_t>(1 + random.below(30)));
    }
    const Order order = prefetch_schedule(disk_of, disks, buffers, size_of);
    expect_valid(disk_of, disks, order);
    std::vector<bool> issued(order.size(), false);
    std::size_t next = 0;
    std::size_t taken = 0;  // by blocks issued and not used
    for (std::size_t used = 0; used < order.size(); ++used) {
      while (!issued[used]) {
        ASSERT_TRUE(taken == 0 || taken + size_of[order[next]] <= buffers)
            << "block " << used << " is not issued, and there is no room for " << order[next];
        taken += size_of[order[next]];
        issued[order[next++]] = true;
      }
      taken -= size_of[used];
    }
  }
}

TEST(PrefetchSchedule, of_pieces_one_behind_the_other_does_not_get_stuck) {
  Random random(7);
  const Disks disk_of = random_sequence(1000, 4, random);
  Order order;
  for (std::size_t begin = 0; begin < disk_of.size(); begin += 100) {
    const Order piece = prefetch_schedule(std::span(disk_of).subspan(begin, 100), 4, 12);
    for (const std::uint32_t block : piece) {
      order.push_back(block + static_cast<std::uint32_t>(begin));
    }
  }
  expect_valid(disk_of, 4, order);
  EXPECT_TRUE(fetch_steps(disk_of, 4, 12, order).has_value());
}

TEST(PrefetchSchedule, keeps_nearly_all_disks_busy) {
  Random random(8);
  for (const unsigned disks : {2u, 4u, 8u, 16u}) {
    const std::size_t blocks = 20000;
    const std::size_t buffer_blocks = 10 * disks;
    const Disks sequences[] = {random_sequence(blocks, disks, random),
                               merge_sequence(50, blocks / 50, disks, random)};
    for (const Disks& disk_of : sequences) {
      const Order order = prefetch_schedule(disk_of, disks, buffer_blocks);
      const std::uint64_t steps = fetch_steps(disk_of, disks, buffer_blocks, order).value();
      EXPECT_LT(steps, blocks / disks * 107 / 100) << disks << " disks";
    }
  }
}

TEST(PrefetchSchedule, an_order_that_fills_the_buffers_with_late_blocks_is_stuck) {
  EXPECT_EQ(fetch_steps(Disks{0, 1, 0}, 2, 2, Order{1, 2, 0}), std::nullopt);
}

}  // namespace
}  // namespace xxl
