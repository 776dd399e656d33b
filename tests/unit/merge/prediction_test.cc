#include "merge/prediction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "base/random.h"

namespace xxl {
namespace {

using Runs = std::vector<Run>;  // a test has a member of that name

// A run in scratch of one-record blocks with these keys as triggers.
Run run_of(const std::vector<std::uint64_t>& keys) {
  Run run;
  run.records = keys.size();
  run.records_per_block = 1;
  for (const std::uint64_t key : keys) {
    RunBlock block;
    block.trigger.words[0] = key;
    run.blocks.push_back(block);
  }
  return run;
}

std::vector<BlockRef> sequence_of(const std::vector<Run>& runs, bool exact) {
  std::vector<BlockRef> sequence;
  for (PredictionSequence prediction(runs, exact); !prediction.finished();) {
    sequence.push_back(prediction.next());
  }
  return sequence;
}

Runs random_runs(std::size_t count, std::uint64_t distinct, Random& random) {
  Runs runs;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::uint64_t> keys(random.below(60));
    for (std::uint64_t& key : keys) key = random.below(distinct);
    std::sort(keys.begin(), keys.end());
    runs.push_back(run_of(keys));
  }
  return runs;
}

TEST(PredictionSequence, is_the_order_of_the_triggers) {
  const Runs runs = {run_of({1, 5, 6}), run_of({2, 3, 9}), run_of({}), run_of({4})};
  const std::vector<BlockRef> expected = {{0, 0}, {1, 0}, {1, 1}, {3, 0}, {0, 1}, {0, 2}, {1, 2}};
  EXPECT_EQ(sequence_of(runs, true), expected);
  EXPECT_EQ(sequence_of(runs, false), expected);
}

TEST(PredictionSequence, exact_triggers_that_tie_come_run_by_run) {
  const Runs runs = {run_of({1, 7, 7}), run_of({7, 7, 8})};
  const std::vector<BlockRef> expected = {{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}};
  EXPECT_EQ(sequence_of(runs, true), expected);
}

TEST(PredictionSequence, cut_triggers_that_tie_come_in_turns) {
  const Runs runs = {run_of({1, 7, 7, 7}), run_of({7, 7, 8}), run_of({7})};
  const std::vector<BlockRef> expected = {{0, 0}, {0, 1}, {1, 0}, {2, 0},
                                          {0, 2}, {1, 1}, {0, 3}, {1, 2}};
  EXPECT_EQ(sequence_of(runs, false), expected);
}

TEST(PredictionSequence, the_second_word_of_a_trigger_decides_ties_of_the_first) {
  Runs runs = {run_of({3}), run_of({3})};
  runs[0].blocks[0].trigger.words[1] = 9;
  runs[1].blocks[0].trigger.words[1] = 8;
  EXPECT_EQ(sequence_of(runs, true), (std::vector<BlockRef>{{1, 0}, {0, 0}}));
}

TEST(PredictionSequence, of_random_runs_is_sorted_by_key_run_and_place) {
  Random random(61);
  for (const std::uint64_t distinct : {1u, 3u, 50u, 1000000u}) {
    const Runs runs = random_runs(20, distinct, random);
    std::vector<BlockRef> expected;
    for (std::uint32_t run = 0; run < runs.size(); ++run) {
      for (std::uint32_t block = 0; block < runs[run].blocks.size(); ++block) {
        expected.push_back({run, block});
      }
    }
    const auto key = [&](const BlockRef& ref) {
      return std::tuple(runs[ref.run].blocks[ref.block].trigger.words[0], ref.run, ref.block);
    };
    std::sort(expected.begin(), expected.end(),
              [&](const BlockRef& a, const BlockRef& b) { return key(a) < key(b); });
    EXPECT_EQ(sequence_of(runs, true), expected);
  }
}

TEST(FetchOrder, with_one_disk_is_the_prediction_sequence) {
  Random random(62);
  const Runs runs = random_runs(30, 40, random);
  std::vector<BlockRef> order;
  for (FetchOrder fetches(predicted_blocks(runs, false), 1, 5); !fetches.finished();) {
    order.push_back(fetches.next());
  }
  EXPECT_EQ(order, sequence_of(runs, false));
}

TEST(FetchOrder, with_many_disks_fetches_every_block_once_and_each_disk_in_the_order_of_need) {
  Random random(63);
  for (const unsigned disks : {2u, 3u, 8u}) {
    Runs runs = random_runs(80, 1000, random);
    for (auto& run : runs) {
      for (RunBlock& block : run.blocks) {
        block.place.disk = static_cast<std::uint8_t>(random.below(disks));
      }
    }
    const auto disk_of = [&](const BlockRef& ref) {
      return runs[ref.run].blocks[ref.block].place.disk;
    };
    std::map<unsigned, std::vector<BlockRef>> needed, fetched;
    for (const BlockRef& ref : sequence_of(runs, true)) needed[disk_of(ref)].push_back(ref);
    for (FetchOrder fetches(predicted_blocks(runs, true), disks, 2 * disks); !fetches.finished();) {
      const BlockRef ref = fetches.next();
      fetched[disk_of(ref)].push_back(ref);
    }
    EXPECT_EQ(fetched, needed);
  }
}

TEST(FetchOrder, goes_on_when_more_is_needed) {
  std::uint32_t needed = 0, allowed = 3;
  FetchOrder fetches(
      [&]() -> std::optional<NeededBlock> {
        if (needed == allowed) return std::nullopt;
        return NeededBlock{{0, needed++}, static_cast<std::uint8_t>(needed % 2)};
      },
      2, 4);
  for (std::uint32_t left = 3; left > 0; --left) EXPECT_LT(fetches.next().block, 3U);
  EXPECT_TRUE(fetches.finished());
  allowed = 4;
  ASSERT_FALSE(fetches.finished());
  EXPECT_EQ(fetches.front().block, 3U);
  EXPECT_EQ(fetches.next().block, 3U);
  EXPECT_TRUE(fetches.finished());
}

TEST(FetchOrder, of_nothing_is_finished) {
  const Runs runs = {run_of({}), run_of({})};
  EXPECT_TRUE(FetchOrder(predicted_blocks(runs, true), 1, 1).finished());
  EXPECT_TRUE(FetchOrder(predicted_blocks(runs, true), 4, 8).finished());
}

}  // namespace
}  // namespace xxl
