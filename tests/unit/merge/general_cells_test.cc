// Coding of runs of text, and the plan of their merge.
#include "merge/general_cells.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "base/random.h"

namespace xxl {
namespace {

TEST(GeneralRun, records_of_any_length_are_coded_with_their_length) {
  for (const std::size_t length :
       {0u, 1u, 127u, 128u, 129u, 16383u, 16384u, 2097151u, 2097152u, 5000000u}) {
    const std::string record(length, 'r');
    std::string coded(coded_bytes(length) + 1, '#');
    char* const end = put_record(coded.data(), record);
    EXPECT_EQ(end, coded.data() + coded_bytes(length));
    EXPECT_EQ(*end, '#');
    EXPECT_TRUE(coded_record(coded.data()) == record) << length;
  }
}

TEST(GeneralRun, separators_are_short_and_lie_between_the_keys) {
  bool separates = false;
  EXPECT_EQ(separator("brown", "fox", separates), "f");
  EXPECT_TRUE(separates);
  EXPECT_EQ(separator("fo", "fox", separates), "fox");
  EXPECT_TRUE(separates);
  EXPECT_EQ(separator("", "fox", separates), "f");
  EXPECT_TRUE(separates);
  EXPECT_EQ(separator("fox", "fox", separates), "fox");
  EXPECT_FALSE(separates);
  EXPECT_EQ(separator("", "", separates), "");
  EXPECT_FALSE(separates);
  Random random(8);
  for (int round = 0; round < 20000; ++round) {
    const auto make = [&] {
      std::string key(random.below(3) * 126 + random.below(6), 'k');
      for (std::size_t i = key.size() - std::min<std::size_t>(key.size(), 3); i < key.size(); ++i) {
        key[i] = static_cast<char>(random.below(3));
      }
      return key;
    };
    std::string before = make(), first = make();
    if (first < before) std::swap(before, first);
    const std::string_view between = separator(before, first, separates);
    ASSERT_LE(between.size(), kMaxTriggerBytes);
    ASSERT_LE(between, first);
    ASSERT_EQ(separates, before < between);
    if (!separates) {
      ASSERT_EQ(between, std::string_view(first).substr(0, kMaxTriggerBytes));
    }
  }
}

TEST(BlockChecksum, of_parts_is_that_of_the_whole) {
  Random random(9);
  for (const std::size_t bytes : {0u, 1u, 10u, 300u, 70000u}) {
    std::vector<std::byte> data(bytes);
    for (std::byte& byte : data) byte = static_cast<std::byte>(random());
    const std::size_t cut = random.below(bytes + 1);
    const std::span<const std::byte> all(data);
    EXPECT_EQ(block_checksum(all), block_checksum({all.first(cut), all.subspan(cut)}));
  }
}

// Runs as GeneralRunWriter describes them.
struct TestRun {
  GeneralRun run;
  std::vector<std::vector<std::string>> blocks;
};

TestRun make_run(std::vector<std::string> keys, Random& random) {
  std::sort(keys.begin(), keys.end());
  TestRun result;
  GeneralRun& run = result.run;
  std::string last;
  for (std::size_t at = 0; at < keys.size();) {
    const std::size_t count = std::min(keys.size() - at, 1 + random.below(6));
    GeneralBlock block;
    std::string_view trigger = std::string_view(keys[at]).substr(0, kMaxTriggerBytes);
    if (at > 0) trigger = separator(last, keys[at], block.separates);
    block.whole_key = trigger.size() == keys[at].size();
    block.trigger_begin = static_cast<std::uint32_t>(run.triggers.size());
    block.trigger_bytes = static_cast<std::uint16_t>(trigger.size());
    block.bytes = 100;
    run.triggers.append(trigger);
    run.blocks.push_back(block);
    result.blocks.emplace_back(keys.begin() + static_cast<std::ptrdiff_t>(at),
                               keys.begin() + static_cast<std::ptrdiff_t>(at + count));
    at += count;
    last = keys[at - 1].substr(0, kMaxTriggerBytes + 1);
  }
  run.last_key = last.substr(0, kMaxTriggerBytes);
  return result;
}

std::string random_key(unsigned kind, Random& random) {
  switch (kind) {
    case 0:
      return std::to_string(random.below(100000));
    case 1:
      return random.below(3) == 0 ? std::to_string(random.below(1000)) : "frequent";
    case 2:
      return std::string(random.below(5), '\0');
    case 3:
      return std::string(254 + random.below(5), 'k') + std::to_string(random.below(9));
    default:
      return random.below(2) == 0 ? std::string(300, 'k') : std::string(256, 'k');
  }
}

TEST(GeneralCells, every_record_lies_in_the_cells_of_its_block) {
  Random random(10);
  for (unsigned round = 0; round < 500; ++round) {
    std::vector<TestRun> runs;
    for (std::size_t run = 0; run < 1 + random.below(6); ++run) {
      std::vector<std::string> keys(random.below(120));
      for (std::string& key : keys) key = random_key(round % 5, random);
      runs.push_back(make_run(std::move(keys), random));
    }
    std::vector<CellSample> samples;
    for (const TestRun& run : runs) {
      for (const GeneralBlock& block : run.run.blocks) {
        samples.push_back({run.run.trigger(block), block.bytes, block.whole_key});
      }
    }
    const GeneralCells cells(samples, 100 + random.below(500));
    for (std::size_t cell = 0; cell + 1 < cells.count(); ++cell) {
      ASSERT_LT(cells.lower(cell), cells.upper(cell));
    }
    for (const TestRun& run : runs) {
      const std::vector<CellRange> ranges = cell_ranges(cells, run.run);
      ASSERT_EQ(ranges.size(), run.blocks.size());
      for (std::size_t block = 0; block < ranges.size(); ++block) {
        ASSERT_LE(ranges[block].first, ranges[block].last);
        if (block > 0) {
          ASSERT_LE(ranges[block - 1].first, ranges[block].first);
        }
        if (block > 0) {
          ASSERT_LE(ranges[block - 1].last, ranges[block].last);
        }
        for (const std::string& key : run.blocks[block]) {
          const std::size_t cell = cells.cell_of(key);
          ASSERT_GE(cell, ranges[block].first);
          ASSERT_LE(cell, ranges[block].last);
          ASSERT_GE(key, cells.lower(cell));
          if (cells.has_upper(cell)) {
            ASSERT_LT(key, cells.upper(cell));
          }
          const std::size_t common = cells.common_prefix(cell);
          ASSERT_EQ(key.substr(0, common), cells.lower(cell).substr(0, common));
        }
      }
    }
  }
}

TEST(GeneralCells, a_frequent_key_has_a_cell_of_its_own) {
  std::vector<CellSample> samples;
  for (int i = 0; i < 100; ++i) samples.push_back({"frequent", 100, true});
  samples.push_back({"a", 100, true});
  samples.push_back({"z", 100, true});
  const GeneralCells cells(samples, 500);
  const std::size_t cell = cells.cell_of("frequent");
  EXPECT_NE(cell, cells.cell_of("frequen"));
  EXPECT_NE(cell, cells.cell_of(std::string_view("frequent\0", 9)));
}

TEST(GeneralCells, a_range_has_cells_of_its_own) {
  std::vector<std::string> keys;
  for (char c = 'a'; c <= 'z'; ++c) keys.emplace_back(3, c);
  std::vector<CellSample> samples;
  for (const std::string& key : keys) samples.push_back({key, 100, true});
  for (const KeyRange& range :
       {KeyRange{"d", "q"}, KeyRange{"", "q"}, KeyRange{"ddd", std::nullopt}, KeyRange{"dx", "dy"},
        KeyRange{"dda", "ddd"}, KeyRange{}}) {
    const GeneralCells cells(samples, 250, range);
    EXPECT_EQ(cells.first(), range.lower.empty() ? 0u : 1u);
    EXPECT_EQ(cells.lower(cells.first()), range.lower);
    EXPECT_EQ(cells.has_upper(cells.end() - 1), range.upper.has_value());
    if (range.upper) {
      EXPECT_EQ(cells.upper(cells.end() - 1), *range.upper);
    }
    for (const std::string& key : keys) {
      const bool in_range = key >= range.lower && (!range.upper || key < *range.upper);
      const std::size_t cell = cells.cell_of(key);
      EXPECT_EQ(cell >= cells.first() && cell < cells.end(), in_range) << key;
    }
  }
  EXPECT_GT(GeneralCells(samples, 250, KeyRange{"d", "q"}).count(), 5u);
}

}  // namespace
}  // namespace xxl
