#include "merge/run_merger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/units.h"
#include "io/transfer.h"
#include "io_test_support.h"
#include "merge/run_merger_harness.h"
#include "run/file_run.h"
#include "run/run_store.h"
#include "simulated_queue.h"
#include "sort/classifier.h"
#include "sort_test_support.h"
#include "watchdog.h"

namespace xxl {
namespace {

using test::Bytes;
using test::format_of;

using test::merge::Harness;
using test::merge::Shape;

struct Parameter {
  std::string name;
  RecordFormat format;
};

class RunMergerOfFormat : public testing::TestWithParam<Parameter> {};

INSTANTIATE_TEST_SUITE_P(
    Formats, RunMergerOfFormat,
    testing::Values(Parameter{"u32", format_of("u32")},
                    Parameter{"f64_desc", format_of("f64", {"0:f64:desc"})},
                    Parameter{"kv64", format_of("kv64")},
                    Parameter{"gensort", format_of("gensort")},
                    Parameter{"long_key", format_of("fixed:60", {"5:bytes40"})},
                    Parameter{"large_record", format_of("fixed:1500", {"3:u8"})}),
    [](const auto& info) { return info.param.name; });

TEST_P(RunMergerOfFormat, merges_random_runs_stably) {
  const RecordFormat& format = GetParam().format;
  std::uint64_t seed = 700;
  for (const test::Distribution& distribution : test::distributions()) {
    for (const std::size_t runs : {1u, 2u, 9u, 60u}) {
      ++seed;
      Random random(seed);
      const Shape shape{.disks = 1 + static_cast<unsigned>(random.below(4)),
                        .block_bytes = kSectorBytes * (1 + random.below(3)),
                        .spare_blocks = 1 + random.below(30),
                        .piece_records = runs + random.below(300),
                        .unique = random.below(3) == 0,
                        .threads = 1 + static_cast<unsigned>(random.below(3))};
      SCOPED_TRACE(distribution.name + " runs " + std::to_string(runs) + " seed " +
                   std::to_string(seed));
      Harness harness(format, shape, seed);
      const Bytes all = distribution.make(format, 200 * kKiB / format.record_bytes, random);
      const std::size_t count = all.size() / format.record_bytes;
      for (std::size_t run = 0; run < runs; ++run) {  // runs of random lengths, some empty
        const auto at = [&](std::size_t index) {
          return all.begin() + static_cast<std::ptrdiff_t>(index * format.record_bytes);
        };
        const std::size_t first = random.below(count + 1);
        const std::size_t part = random.below(std::min(count - first, 3 * count / runs) + 1);
        harness.add_scratch_run(test::sorted_records(format, Bytes(at(first), at(first + part))));
      }
      ASSERT_EQ(harness.merge(), harness.expected());
    }
  }
}

TEST(RunMerger, with_one_buffer_more_than_runs_it_still_goes_on) {
  const RecordFormat format = format_of("u64");
  for (const unsigned disks : {1u, 4u}) {
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      SCOPED_TRACE("disks " + std::to_string(disks) + " seed " + std::to_string(seed));
      Random random(seed);
      Harness harness(format, {.disks = disks, .spare_blocks = 1, .piece_records = 50}, seed);
      for (int run = 0; run < 30; ++run) {
        harness.add_scratch_run(
            test::sorted_records(format, test::random_records(format, random.below(6000), random)));
      }
      ASSERT_EQ(harness.merge(), harness.expected());
    }
  }
}

TEST(RunMerger, merges_hundreds_of_runs) {
  const RecordFormat format = format_of("kv32");
  Random random(71);
  Harness harness(format, {.disks = 3, .spare_blocks = 20, .piece_records = 500}, 71);
  for (int run = 0; run < 500; ++run) {
    harness.add_scratch_run(
        test::sorted_records(format, test::few_distinct_records(format, 1200, 900, random)));
  }
  EXPECT_EQ(harness.merge(), harness.expected());
}

// Keys that are equal in all that a trigger holds: the order of fetching is a guess, and blocks
// must be dropped and fetched again.
TEST(RunMerger, when_stopped_it_ends_after_what_is_being_read) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    SCOPED_TRACE(seed);
    const RecordFormat format = format_of("u64");
    Harness harness(format, {.spare_blocks = 20, .piece_records = 50, .stop_at = 1000 * seed},
                    seed);
    Random random(seed);
    for (int run = 0; run < 20; ++run)
      harness.add_scratch_run(
          test::sorted_records(format, test::random_records(format, 2000, random)));
    const Bytes merged = harness.merge(), expected = harness.expected();
    EXPECT_GE(merged.size(), 1000 * seed * format.record_bytes);
    EXPECT_LT(merged.size(), expected.size());
    EXPECT_TRUE(std::equal(merged.begin(), merged.end(), expected.begin()));
  }
}

TEST(RunMerger, cut_triggers_that_tie_do_not_stall_it) {
  const RecordFormat format = format_of("fixed:40");
  std::uint64_t refetched = 0;
  for (const unsigned disks : {1u, 3u}) {
    for (const std::size_t spare : {1u, 2u, 5u, 40u}) {
      for (const std::uint64_t seed : {1u, 2u}) {
        SCOPED_TRACE("disks " + std::to_string(disks) + " spare " + std::to_string(spare) +
                     " seed " + std::to_string(seed));
        Random random(seed);
        Harness harness(format, {.disks = disks, .spare_blocks = spare, .piece_records = 100},
                        seed);
        for (int run = 0; run < 12; ++run) {
          Bytes records =
              test::common_prefix_records(format, random.below(2500), 8 * kTriggerWords, random);
          // Ranges that hardly overlap: one run is needed to its end while the others wait.
          for (std::size_t at = 0; at < records.size(); at += 40) {
            records[at + 16] = static_cast<std::byte>(random.below(10) == 0 ? random() : run * 20);
          }
          harness.add_scratch_run(test::sorted_records(format, records));
        }
        ASSERT_EQ(harness.merge(), harness.expected());
        refetched += harness.refetched_blocks();
      }
    }
  }
  EXPECT_GT(refetched, 0u) << "this test was to make it drop blocks";
}

TEST(RunMerger, some_cut_triggers_tie_and_others_do_not) {
  const RecordFormat format = format_of("fixed:32");
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u, 5u, 6u}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Harness harness(format,
                    {.disks = 2,
                     .spare_blocks = 1 + random.below(3),
                     .piece_records = 64,
                     .unique = seed % 2 == 0},
                    seed);
    for (int run = 0; run < 15; ++run) {
      Bytes records = test::random_records(format, random.below(3000), random);
      for (std::size_t at = 0; at < records.size(); at += 32) {
        std::fill_n(records.begin() + static_cast<std::ptrdiff_t>(at), 15, std::byte{1});
        records[at + 15] = static_cast<std::byte>(random.below(3));
        for (std::size_t i = 17; i < 32; ++i) records[at + i] = std::byte{0};
      }
      harness.add_scratch_run(test::sorted_records(format, records));
    }
    ASSERT_EQ(harness.merge(), harness.expected());
  }
}

TEST(RunMerger, equal_records_only) {
  const RecordFormat format = format_of("fixed:48");
  Random random(72);
  for (const bool unique : {false, true}) {
    Harness harness(format, {.disks = 2, .spare_blocks = 1, .piece_records = 64, .unique = unique},
                    72);
    for (int run = 0; run < 20; ++run) {
      harness.add_scratch_run(Bytes(48 * random.below(1500), std::byte{9}));
    }
    EXPECT_EQ(harness.merge(), harness.expected());
  }
}

TEST(RunMerger, merges_files_at_any_offset_together_with_runs_in_scratch) {
  for (const char* record : {"gensort", "kv64", "fixed:1001"}) {
    const RecordFormat format = format_of(record);
    Random random(73);
    Harness harness(format, {.spare_blocks = 6}, 73);
    Bytes in_files;
    for (std::size_t run = 0; run < 8; ++run) {
      const Bytes records = test::sorted_records(
          format, test::random_records(format, random.below(100000 / format.record_bytes), random));
      if (run % 3 == 2) {
        harness.add_scratch_run(records);
      } else {
        harness.add_file_run(records, run * 1237);
        in_files.insert(in_files.end(), records.begin(), records.end());
      }
    }
    EXPECT_EQ(harness.merge(), harness.expected()) << record;
    EXPECT_EQ(harness.files_hash(), test::hash_of(in_files, format.record_bytes)) << record;
  }
}

// ---- large pieces ----

TEST_P(RunMergerOfFormat, large_pieces_may_take_over_at_any_time) {
  const RecordFormat& format = GetParam().format;
  std::uint64_t seed = 900;
  for (const test::Distribution& distribution : test::distributions()) {
    for (const std::size_t runs : {1u, 7u, 40u}) {
      ++seed;
      Random random(seed);
      const std::size_t count = 200 * kKiB / format.record_bytes;
      const Shape shape{.disks = 1 + static_cast<unsigned>(random.below(3)),
                        .block_bytes = kSectorBytes * (1 + random.below(3)),
                        .spare_blocks = 1 + random.below(60),
                        .piece_records = runs + random.below(100),
                        .unique = random.below(3) == 0,
                        .threads = 1 + static_cast<unsigned>(random.below(3)),
                        .large_sorters = 1 + static_cast<unsigned>(random.below(3)),
                        .hand_over_at = random.below(2) == 0 ? 0 : random.below(count)};
      SCOPED_TRACE(distribution.name + " runs " + std::to_string(runs) + " seed " +
                   std::to_string(seed));
      Harness harness(format, shape, seed);
      for (std::size_t run = 0; run < runs; ++run) {
        harness.add_scratch_run(
            test::sorted_records(format, distribution.make(format, count / runs, random)));
      }
      ASSERT_EQ(harness.merge(), harness.expected());
      if (shape.hand_over_at == 0) {
        EXPECT_EQ(harness.records_handed_over(), count / runs * runs);
      }
    }
  }
}

TEST(RunMerger, a_sorter_of_large_pieces_that_fails_ends_the_merge) {
  class Failing final : public PieceSorter {
   public:
    void sort(std::span<const Segment>) override { throw Error(ErrorCode::device, "it broke"); }
    std::size_t size() const override { return 0; }
    void write(std::size_t, std::size_t, std::byte*) const override {}
  };
  const RecordFormat format = format_of("u64");
  for (const bool unique : {false, true}) {
    Random random(74);
    // One of three sorters fails: the others wait for its turn to pass.
    Harness harness(format,
                    {.spare_blocks = 60, .unique = unique, .threads = 3, .large_sorters = 3}, 74);
    for (int run = 0; run < 5; ++run) {
      harness.add_scratch_run(
          test::sorted_records(format, test::random_records(format, 20000, random)));
    }
    int made = 0;
    harness.wrap_large_sorters([&](std::unique_ptr<PieceSorter> sorter) {
      if (made++ == 1) return std::unique_ptr<PieceSorter>(std::make_unique<Failing>());
      return sorter;
    });
    try {
      harness.merge();
      FAIL() << "it must fail";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::device);
    }
  }
}

// ---- runs left unsorted within cells ----

// About `cells` cells between keys of random records, some of them of a single key.
CellGrid random_grid(const RecordFormat& format, const Bytes& records, std::size_t cells,
                     Random& random) {
  const KeyLayout layout(format);
  std::vector<Trigger> boundaries;
  const std::size_t count = records.size() / format.record_bytes;
  for (std::size_t i = 1; i < cells && count > 0; ++i) {
    const std::byte* record = records.data() + random.below(count) * format.record_bytes;
    const Trigger key = trigger_of(layout, record);
    boundaries.push_back(key);
    if (random.below(4) != 0) continue;
    SplitterKey next = successor(splitter_key(layout, record));
    if (next.empty()) continue;
    std::copy(next.begin(), next.end(), boundaries.emplace_back().words);
  }
  std::sort(boundaries.begin(), boundaries.end());
  boundaries.erase(std::unique(boundaries.begin(), boundaries.end()), boundaries.end());
  return CellGrid(std::move(boundaries));
}

Bytes part_of(const Bytes& records, std::size_t record_bytes, std::size_t first,
              std::size_t count) {
  const auto begin = records.begin() + static_cast<std::ptrdiff_t>(first * record_bytes);
  return Bytes(begin, begin + static_cast<std::ptrdiff_t>(count * record_bytes));
}

class RunMergerOfCells : public testing::TestWithParam<Parameter> {};

INSTANTIATE_TEST_SUITE_P(Formats, RunMergerOfCells,
                         testing::Values(Parameter{"u64", format_of("u64")},
                                         Parameter{"f64_desc", format_of("f64", {"0:f64:desc"})},
                                         Parameter{"kv64", format_of("kv64")},
                                         Parameter{"gensort", format_of("gensort")}),
                         [](const auto& info) { return info.param.name; });

// Cells of all sizes, from empty ones to some that are too large to be taken whole; a few of them
// sorted in a run, as run formation leaves those that came in parts.
TEST_P(RunMergerOfCells, merges_runs_in_order_of_cells_stably) {
  const RecordFormat& format = GetParam().format;
  std::uint64_t seed = 900;
  for (const test::Distribution& distribution : test::distributions()) {
    for (const std::size_t cells : {1u, 5u, 60u, 700u}) {
      for (const std::size_t runs : {1u, 3u, 12u}) {
        SCOPED_TRACE(distribution.name + " cells " + std::to_string(cells) + " runs " +
                     std::to_string(runs) + " seed " + std::to_string(++seed));
        Random random(seed);
        const Shape shape{.disks = 1 + static_cast<unsigned>(random.below(4)),
                          .block_bytes = kSectorBytes * (1 + random.below(3)),
                          .spare_blocks = 9 + random.below(30),
                          .piece_records = runs + random.below(300),
                          .threads = 1 + static_cast<unsigned>(random.below(3)),
                          .piece_capacity = random.below(2000)};
        const std::size_t count = 150 * kKiB / format.record_bytes;
        const Bytes all = distribution.make(format, count, random);
        const CellGrid grid = random_grid(format, all, cells, random);
        Harness harness(format, shape, seed);
        for (std::size_t run = 0; run < runs; ++run) {
          const std::size_t first = random.below(count + 1);
          const std::size_t part = random.below(std::min(count - first, 3 * count / runs) + 1);
          harness.add_run_of_cells(
              grid, part_of(all, format.record_bytes, first, part), [&](std::size_t records) {
                return records <= harness.piece_capacity() && random.below(5) != 0;
              });
        }
        ASSERT_EQ(harness.merge(), harness.expected());
      }
    }
  }
}

TEST_P(RunMergerOfCells, merges_them_with_runs_that_know_no_cells) {
  const RecordFormat& format = GetParam().format;
  for (std::uint64_t seed = 950; seed < 962; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Bytes all = test::few_distinct_records(format, 200 * kKiB / format.record_bytes,
                                                 seed % 2 == 0 ? 5000 : 50, random);
    const std::size_t count = all.size() / format.record_bytes;
    const CellGrid grid = random_grid(format, all, 1 + random.below(100), random);
    Harness harness(format,
                    {.disks = seed % 3 == 0 ? 3u : 1u,
                     .spare_blocks = 9,
                     .piece_records = 60,
                     .piece_capacity = 150 + random.below(1000)},
                    seed);
    for (std::size_t run = 0; run < 6; ++run) {
      const Bytes part = part_of(all, format.record_bytes, run * count / 6, count / 6);
      if (run == seed % 6) {
        harness.add_file_run(test::sorted_records(format, part), 123);
      } else if (run == (seed + 3) % 6) {
        harness.add_scratch_run(test::sorted_records(format, part));
      } else {
        harness.add_run_of_cells(grid, part, [&](std::size_t records) {
          return records <= harness.piece_capacity() && random.below(8) != 0;
        });
      }
    }
    ASSERT_EQ(harness.merge(), harness.expected());
  }
}

TEST(RunMerger, with_one_buffer_more_than_cells_hold_it_still_goes_on) {
  const RecordFormat format = format_of("kv64");
  for (const unsigned disks : {1u, 2u, 5u}) {
    for (const std::size_t cells : {1u, 20u, 150u, 2000u}) {
      for (const std::uint64_t seed : {1u, 2u, 3u}) {
        SCOPED_TRACE("disks " + std::to_string(disks) + " cells " + std::to_string(cells) +
                     " seed " + std::to_string(seed));
        Random random(seed);
        const Bytes all = test::random_records(format, 20000, random);
        const CellGrid grid = random_grid(format, all, cells, random);
        Harness harness(format,
                        {.disks = disks,
                         .spare_blocks = 1,
                         .piece_records = 50 * seed,
                         .piece_capacity = 600 * seed},
                        seed);
        for (std::size_t run = 0; run < 10; ++run) {
          harness.add_run_of_cells(
              grid, part_of(all, 16, run * 2000, 2000),
              [&](std::size_t records) { return records <= harness.piece_capacity(); });
        }
        ASSERT_EQ(harness.merge(), harness.expected());
      }
    }
  }
}

TEST(RunMerger, cells_of_one_key_larger_than_a_piece_are_merged_in_order_of_runs) {
  const RecordFormat format = format_of("kv64");
  Random random(76);
  const Bytes all = test::few_distinct_records(format, 12000, 3, random);
  const CellGrid grid = random_grid(format, all, 12, random);
  Harness harness(format, {.disks = 2, .piece_records = 50, .piece_capacity = 900}, 76);
  for (std::size_t run = 0; run < 6; ++run) {
    harness.add_run_of_cells(grid, part_of(all, 16, run * 2000, 2000), [&](std::size_t records) {
      return records <= harness.piece_capacity();
    });
  }
  EXPECT_EQ(harness.merge(), harness.expected());
}

TEST(RunMerger, a_file_that_is_not_in_order_is_named_with_the_record) {
  const RecordFormat format = format_of("u64");
  Random random(74);
  const Bytes sorted = test::sorted_records(format, test::random_records(format, 5000, random));
  for (const std::size_t place : {1u, 700u, 512u, 1024u, 4999u}) {  // some at a block's start
    Bytes records = sorted;
    std::fill_n(records.begin() + static_cast<std::ptrdiff_t>(8 * place), 8, std::byte{0});
    Harness harness(format, {}, 74);
    harness.add_file_run(sorted, 0);
    harness.add_file_run(records, 0);
    try {
      harness.merge();
      FAIL() << "must throw";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_input);
      const std::string text = error.what();
      EXPECT_NE(text.find("record " + std::to_string(place) + " "), std::string::npos) << text;
      EXPECT_NE(text.find("byte " + std::to_string(8 * place) + ":"), std::string::npos) << text;
      EXPECT_NE(text.find("/run1"), std::string::npos) << text;
    }
  }
}

// ---- what disks may do ----

class RunMergerFaults : public testing::Test {
 protected:
  // Merges 5 runs of 10 blocks each, block 17 of those read meets `fault`. Returns what is thrown.
  Error error_with(const test::TransferFunction& fault) {
    const RecordFormat format = format_of("u64");
    Random random(75);
    std::size_t reads = 0;
    Harness harness(format, {}, 75, [&](const io::Request& request) {
      return ++reads == 17 ? fault(request) : test::honest_transfer(request);
    });
    directory_ = harness.directory();
    for (int run = 0; run < 5; ++run) {
      harness.add_scratch_run(
          test::sorted_records(format, test::random_records(format, 5000, random)));
    }
    try {
      harness.merge();
    } catch (const Error& error) {
      return error;
    }
    return Error(ErrorCode::usage, "nothing was thrown");
  }

  std::string directory_;
};

TEST_F(RunMergerFaults, a_flipped_bit_is_noticed_with_directory_and_place) {
  const Error error = error_with([](const io::Request& request) {
    const io::Completion completion = test::honest_transfer(request);
    request.data[1234] ^= std::byte{4};
    return completion;
  });
  EXPECT_EQ(error.code(), ErrorCode::corrupt);
  EXPECT_NE(std::string(error.what()).find(directory_), std::string::npos) << error.what();
}

TEST_F(RunMergerFaults, a_block_of_another_place_is_noticed) {
  const Error error = error_with([](io::Request request) {
    request.offset = request.offset == 0 ? kSectorBytes : 0;
    return test::honest_transfer(request);
  });
  EXPECT_EQ(error.code(), ErrorCode::corrupt);
}

TEST_F(RunMergerFaults, a_failed_read_is_an_error_with_its_number) {
  const Error error = error_with([](const io::Request&) { return io::Completion{EIO, 0}; });
  EXPECT_EQ(error.code(), ErrorCode::io);
  EXPECT_EQ(error.sys_errno(), EIO);
  EXPECT_EQ(error.path(), directory_);
}

TEST_F(RunMergerFaults, a_short_read_is_an_error) {
  const Error error = error_with([](const io::Request& request) {
    return io::Completion{0, request.data.size() / 2};
  });
  EXPECT_NE(error.code(), ErrorCode::usage) << error.what();
}

}  // namespace
}  // namespace xxl
