#include "merge/fetched_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/random.h"

namespace xxl {
namespace {

// A run of the numbers 0, 1, 2, ..., the blocks of which are put into memory one by one.
class FetchedRunTest : public testing::Test {
 protected:
  FetchedRunTest() {
    run_.records = 95;
    run_.records_per_block = 10;
    for (std::uint64_t i = 0; i < run_.records; ++i) numbers_.push_back(i);
  }

  std::byte* block(std::uint32_t index) {
    return reinterpret_cast<std::byte*>(numbers_.data() + std::size_t{index} * 10);
  }
  bool fetch(std::uint32_t index) {
    fetched_.start(index);
    return fetched_.arrive(index, block(index), block(index));
  }
  static std::uint64_t number(const std::byte* record) {
    std::uint64_t value;
    std::memcpy(&value, record, sizeof value);
    return value;
  }

  xxl::Run run_;  // not testing::Test::Run
  std::vector<std::uint64_t> numbers_;
  FetchedRun fetched_{run_, sizeof(std::uint64_t)};
};

TEST_F(FetchedRunTest, records_are_in_memory_up_to_the_first_missing_block) {
  EXPECT_EQ(fetched_.last_record(), nullptr);
  Random random(1);
  std::vector<std::uint32_t> order(10);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  std::vector<bool> there(11);
  for (const std::uint32_t index : order) {
    EXPECT_TRUE(fetched_.lacks(index));
    fetched_.start(index);
    EXPECT_FALSE(fetched_.lacks(index));
    EXPECT_EQ(fetched_.first_missing(),
              std::find(there.begin(), there.end(), false) - there.begin())
        << "a block on its way counts as missing";
    EXPECT_TRUE(fetched_.arrive(index, block(index), block(index)));
    there[index] = true;
    const auto missing = std::find(there.begin(), there.end(), false) - there.begin();
    EXPECT_EQ(fetched_.first_missing(), missing);
    EXPECT_EQ(fetched_.records_in_memory(), std::min<std::size_t>(10 * missing, 95));
    if (missing > 0) {
      EXPECT_EQ(number(fetched_.last_record()), fetched_.records_in_memory() - 1);
    }
  }
}

TEST_F(FetchedRunTest, segments_of_records_are_cut_at_the_ends_of_blocks) {
  for (std::uint32_t index = 0; index < 10; ++index) fetch(index);
  for (std::uint64_t first = 0; first <= 95; ++first) {
    for (std::uint64_t end = first; end <= 95; ++end) {
      std::vector<Segment> segments;
      fetched_.append_segments(first, end, segments);
      std::uint64_t next = first;
      for (const Segment& segment : segments) {
        for (std::size_t i = 0; i < segment.count; ++i) {
          EXPECT_EQ(number(segment.records + 8 * i), next++);
        }
        EXPECT_TRUE(next == end || next % 10 == 0);
      }
      EXPECT_EQ(next, end);
    }
  }
}

TEST_F(FetchedRunTest, a_partition_point_is_found_wherever_it_is) {
  for (std::uint32_t index = 0; index < 10; ++index) fetch(index);
  for (std::uint64_t low = 0; low <= 95; ++low) {
    for (std::uint64_t high = low; high <= 95; ++high) {
      for (std::uint64_t point = low; point <= high; ++point) {
        ASSERT_EQ(fetched_.partition_point(low, high,
                                           [&](const std::byte* r) { return number(r) < point; }),
                  point);
      }
    }
  }
}

TEST_F(FetchedRunTest, only_blocks_whose_records_all_come_before_are_released) {
  for (std::uint32_t index = 0; index < 10; ++index) {
    if (index != 4) fetch(index);
  }
  EXPECT_EQ(fetched_.release_before(9), nullptr);
  EXPECT_EQ(fetched_.release_before(10), block(0));
  EXPECT_EQ(fetched_.release_before(19), nullptr);
  EXPECT_EQ(fetched_.first_block(), 1u);
  EXPECT_FALSE(fetched_.lacks(0)) << "it will not be needed again";
  for (std::uint32_t index = 1; index < 4; ++index) {
    EXPECT_EQ(fetched_.release_before(95), block(index));
  }
  EXPECT_EQ(fetched_.release_before(95), nullptr) << "block 4 is not there";
  EXPECT_EQ(fetched_.last_record(), nullptr);
  fetch(4);
  EXPECT_EQ(fetched_.records_in_memory(), 95u);
  for (std::uint32_t index = 4; index < 9; ++index) {
    EXPECT_EQ(fetched_.release_before(94), block(index));
  }
  EXPECT_EQ(fetched_.release_before(94), nullptr);
  EXPECT_EQ(fetched_.release_before(95), block(9)) << "the last block has five records";
}

TEST_F(FetchedRunTest, a_block_that_is_dropped_is_missing_until_it_comes_again) {
  fetch(0);
  EXPECT_FALSE(fetched_.last_block()) << "the first one is never to be dropped";
  for (const std::uint32_t index : {1u, 2u, 5u}) fetch(index);
  EXPECT_EQ(fetched_.last_block(), 5u);
  EXPECT_EQ(fetched_.drop(5), block(5));
  EXPECT_TRUE(fetched_.lacks(5));
  EXPECT_EQ(fetched_.records_in_memory(), 30u);
  EXPECT_EQ(fetched_.last_block(), 2u);
  EXPECT_EQ(fetched_.drop(2), block(2));
  EXPECT_EQ(fetched_.records_in_memory(), 20u);
  EXPECT_FALSE(fetch(2)) << "not for the first time";
  EXPECT_EQ(fetched_.records_in_memory(), 30u);
  EXPECT_TRUE(fetch(3));
}

}  // namespace
}  // namespace xxl
