#include "sort/cpu_chunk_sorter.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/units.h"
#include "sort/chunk_sorter_harness.h"
#include "sort_test_support.h"
#include "watchdog.h"

namespace xxl {
namespace {

using test::Bytes;
using test::format_of;

using test::chunk_sorter::Harness;
using test::chunk_sorter::Shape;

// Every run is in order, and merging the runs in their order is a stable sort of the input.
void expect_runs_of(const RecordFormat& format, const std::vector<Bytes>& runs,
                    const Bytes& records) {
  Bytes all;
  for (const Bytes& run : runs) {
    ASSERT_EQ(run, test::sorted_records(format, run));
    all.insert(all.end(), run.begin(), run.end());
  }
  ASSERT_EQ(test::sorted_records(format, all), test::sorted_records(format, records));
}

// The pieces of a run come in order of cells; one that is a whole cell is all that the run has of
// it; and every record is in the cell that its piece says. Returns how many were whole cells.
std::size_t expect_pieces_in_cells(Harness& harness) {
  const auto boundaries = harness.sorter().cell_boundaries();
  const KeyLayout& layout = harness.layout();
  std::size_t whole = 0;
  for (const auto& [run, pieces] : harness.pieces_of_runs()) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const Harness::Left& piece = *pieces[i];
      if (i > 0) {
        const Harness::Left& before = *pieces[i - 1];
        EXPECT_LE(before.cell, piece.cell) << "run " << run << " piece " << i;
        EXPECT_FALSE((piece.whole_cell || before.whole_cell) && before.cell == piece.cell)
            << "run " << run << " piece " << i << " cell " << piece.cell;
      }
      whole += piece.whole_cell ? 1 : 0;
      for (std::size_t at = 0; at < piece.content.size(); at += layout.record_bytes()) {
        const SplitterKey key = splitter_key(layout, piece.content.data() + at);
        const auto cell = static_cast<std::size_t>(
            std::upper_bound(boundaries.begin(), boundaries.end(), key) - boundaries.begin());
        EXPECT_EQ(cell, piece.cell) << "run " << run << " piece " << i;
      }
      if (testing::Test::HasFailure()) return whole;
    }
  }
  return whole;
}

struct Parameter {
  std::string name;
  RecordFormat format;
};

class CpuChunkSorterOfFormat : public testing::TestWithParam<Parameter> {};

INSTANTIATE_TEST_SUITE_P(
    Formats, CpuChunkSorterOfFormat,
    testing::Values(Parameter{"u32", format_of("u32")}, Parameter{"u64", format_of("u64")},
                    Parameter{"kv64_desc", format_of("kv64", {"0:u64:desc"})},
                    Parameter{"gensort", format_of("gensort")},
                    Parameter{"small_key", format_of("fixed:12", {"3:u8", "0:u16"})},
                    Parameter{"large_record", format_of("fixed:3000", {"10:bytes20"})}),
    [](const auto& info) { return info.param.name; });

TEST_P(CpuChunkSorterOfFormat, forms_sorted_runs_that_merge_to_a_stable_sort) {
  const RecordFormat& format = GetParam().format;
  std::uint64_t seed = 100;
  for (const test::Distribution& distribution : test::distributions()) {
    for (const std::size_t bytes : {5 * kKiB, 200 * kKiB, 3 * kMiB / 2}) {
      SCOPED_TRACE(distribution.name + " bytes " + std::to_string(bytes) + " seed " +
                   std::to_string(++seed));
      Random random(seed);
      const Bytes records = distribution.make(format, bytes / format.record_bytes, random);
      Harness harness(format, {.memory_bytes = 700 * kKiB}, seed);
      const auto runs = harness.form_runs(records, seed % 2 == 0);
      ASSERT_NO_FATAL_FAILURE(expect_runs_of(format, runs, records));
      EXPECT_EQ(harness.sorter().input_hash(), test::hash_of(records, format.record_bytes));
    }
  }
}

TEST_P(CpuChunkSorterOfFormat, spreads_pieces_over_the_run_each_at_its_place) {
  const RecordFormat& format = GetParam().format;
  std::uint64_t seed = 150;
  for (const test::Distribution& distribution : test::distributions()) {
    SCOPED_TRACE(distribution.name + " seed " + std::to_string(++seed));
    Random random(seed);
    const Bytes records = distribution.make(format, 300 * kKiB / format.record_bytes, random);
    Harness harness(format, {.memory_bytes = 2 * kMiB, .streams = 5}, seed);
    harness.form_runs(records, seed % 2 == 0);
    std::map<std::uint64_t, const Bytes*> places;
    std::size_t steps_back = 0;
    std::uint64_t last = 0;
    ASSERT_EQ(harness.pieces_of_runs().size(), 1u);
    for (const auto& piece : harness.pieces_of_runs().begin()->second) {
      EXPECT_TRUE(places.emplace(piece->first, &piece->content).second);
      steps_back += piece->first < last ? 1 : 0;
      last = piece->first;
    }
    Bytes all;
    for (const auto& [first, content] : places) {
      EXPECT_EQ(first, all.size() / format.record_bytes);
      all.insert(all.end(), content->begin(), content->end());
    }
    EXPECT_EQ(all, test::sorted_records(format, records));
    if (distribution.name == "uniform") {
      EXPECT_GT(steps_back, 0u);
    }
  }
}

TEST_P(CpuChunkSorterOfFormat, a_piece_said_to_be_a_whole_cell_is_all_of_it_in_its_run) {
  const RecordFormat& format = GetParam().format;
  std::uint64_t seed = 200;
  for (const test::Distribution& distribution : test::distributions()) {
    for (const bool drifting : {false, true}) {
      SCOPED_TRACE(distribution.name + (drifting ? " drifting" : "") + " seed " +
                   std::to_string(++seed));
      Random random(seed);
      const std::size_t count = (drifting ? 1 : 2) * kMiB / format.record_bytes;
      Bytes records;
      if (drifting) records = test::few_distinct_records(format, count, 30, random);
      const Bytes others = distribution.make(format, count, random);
      records.insert(records.end(), others.begin(), others.end());
      Harness harness(format, {.memory_bytes = 700 * kKiB, .leave_unsorted = true}, seed);
      const auto runs = harness.form_runs(records, seed % 2 == 0);
      const std::size_t whole = expect_pieces_in_cells(harness);
      if (HasFailure()) return;
      if (distribution.name == "uniform" && !drifting && format.record_bytes < 1000) {
        EXPECT_GT(whole, runs.size());
      }
      Bytes all;
      for (const Bytes& run : runs) all.insert(all.end(), run.begin(), run.end());
      ASSERT_EQ(test::sorted_records(format, all), test::sorted_records(format, records));
    }
  }
}

// What is kept, behind the runs, makes up the input; what is spilled of it is a run like others.
TEST_P(CpuChunkSorterOfFormat, keeps_what_is_in_memory_at_the_end_or_spills_it) {
  const RecordFormat& format = GetParam().format;
  std::uint64_t seed = 300;
  constexpr std::size_t kSpilled[] = {0, 2, 1};  // cells: none, every second one, all
  for (const test::Distribution& distribution : test::distributions()) {
    const std::size_t spilled = kSpilled[seed % 3];
    SCOPED_TRACE(distribution.name + " seed " + std::to_string(++seed));
    Random random(seed);
    const Bytes records = distribution.make(format, 3 * kMiB / 2 / format.record_bytes, random);
    Harness harness(format, {.memory_bytes = 700 * kKiB, .keeps_rest = true}, seed);
    std::vector<Bytes> runs = harness.form_runs(records, seed % 2 == 0);
    const std::size_t runs_before = runs.size();
    CpuChunkSorter& sorter = harness.sorter();
    const std::size_t cells = sorter.cell_boundaries().size() + 1;
    std::uint64_t kept = 0;
    for (std::size_t cell = 0; cell < cells; ++cell) kept += sorter.kept_records(cell);
    if (distribution.name == "uniform") {
      EXPECT_GT(kept, harness.resident_records() / 3);
    }
    sorter.spill([&](std::size_t cell) { return spilled != 0 && cell % spilled == 0; });
    runs = harness.pull_spilled();
    EXPECT_LE(runs.size(), runs_before + 1);
    Bytes all;
    for (const Bytes& run : runs) {
      ASSERT_EQ(run, test::sorted_records(format, run));
      all.insert(all.end(), run.begin(), run.end());
    }
    expect_pieces_in_cells(harness);
    if (HasFailure()) return;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      std::vector<Segment> segments;
      sorter.append_kept(cell, segments);
      std::uint64_t count = 0;
      for (const Segment& segment : segments) {
        count += segment.count;
        all.insert(all.end(), segment.records,
                   segment.records + segment.count * format.record_bytes);
      }
      ASSERT_EQ(count, sorter.kept_records(cell));
      ASSERT_TRUE(count == 0 || spilled == 0 || cell % spilled != 0);
    }
    ASSERT_EQ(test::sorted_records(format, all), test::sorted_records(format, records));
  }
}

// A key that fills more than a piece leaves in parts while more of it arrives: what comes last is
// not the whole cell, though it is all that is left of it.
TEST(CpuChunkSorter, the_last_part_of_a_frequent_key_is_not_a_whole_cell) {
  const RecordFormat format = format_of("kv64");
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Bytes records = test::random_records(format, 200000, random);
    for (std::size_t i = 0; i < 200000; ++i) {  // every third record
      if (random.below(3) == 0) std::fill_n(records.data() + i * 16, 8, std::byte{0x55});
    }
    Harness harness(format, {.memory_bytes = 700 * kKiB, .leave_unsorted = true}, seed);
    const auto runs = harness.form_runs(records, seed % 2 == 0);
    expect_pieces_in_cells(harness);
    if (HasFailure()) return;
    Bytes all;
    for (const Bytes& run : runs) all.insert(all.end(), run.begin(), run.end());
    ASSERT_EQ(test::sorted_records(format, all), test::sorted_records(format, records));
  }
}

// The last blocks of the input are refused, and nothing leaves before the end is known: they must
// be asked for again then.
TEST(CpuChunkSorter, a_block_that_found_no_room_is_taken_when_nothing_else_arrives) {
  const RecordFormat format = format_of("u64");
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u, 5u, 6u}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Harness harness(format, {.push_bytes = 16 * kKiB}, seed);
    // Uneven buckets.
    Bytes records = test::few_distinct_records(format, harness.geometry().push_records, 3, random);
    const std::size_t count =
        harness.resident_records() * (6 + seed) / 8 - harness.geometry().push_records;
    const Bytes others = test::random_records(format, count, random);
    records.insert(records.end(), others.begin(), others.end());
    const auto runs = harness.form_runs(records);
    ASSERT_NO_FATAL_FAILURE(expect_runs_of(format, runs, records));
  }
}

TEST_P(CpuChunkSorterOfFormat, sorted_and_constant_input_are_one_run) {
  const RecordFormat& format = GetParam().format;
  for (const char* name : {"sorted", "constant"}) {
    const auto distribution =
        std::ranges::find(test::distributions(), std::string(name), &test::Distribution::name);
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      SCOPED_TRACE(std::string(name) + " seed " + std::to_string(seed));
      Random random(seed);
      const Bytes records = distribution->make(format, 3 * kMiB / format.record_bytes, random);
      Harness harness(format, {.memory_bytes = 700 * kKiB}, seed);
      EXPECT_EQ(harness.form_runs(records).size(), 1u);
    }
  }
}

TEST(CpuChunkSorter, runs_are_half_of_the_memory_and_the_last_one_may_be_all_of_it) {
  const RecordFormat format = format_of("u64");
  for (const char* name : {"uniform", "reverse"}) {
    SCOPED_TRACE(name);
    const auto distribution =
        std::ranges::find(test::distributions(), std::string(name), &test::Distribution::name);
    Random random(4);
    Harness harness(format, {.memory_bytes = 2 * kMiB}, 4);
    const std::size_t count = 12 * harness.resident_records();
    const auto runs = harness.form_runs(distribution->make(format, count, random));
    EXPECT_LE(runs.size(), 24u) << "of 12 times the memory";
    for (const Bytes& run : runs) {
      if (&run != &runs.back()) {
        EXPECT_GE(run.size(), harness.resident_records() * 8 / 2);
      }
    }
  }
}

TEST(CpuChunkSorter, long_runs_are_all_of_the_memory) {
  const RecordFormat format = format_of("u64");
  Random random(5);
  Harness harness(format, {.memory_bytes = 2 * kMiB, .long_runs = true}, 5);
  const std::size_t count = 12 * harness.resident_records();
  const Bytes records = test::random_records(format, count, random);
  const auto runs = harness.form_runs(records);
  EXPECT_LE(runs.size(), 12u) << "of 12 times the memory";
  ASSERT_NO_FATAL_FAILURE(expect_runs_of(format, runs, records));
}

TEST(CpuChunkSorter, a_change_of_the_key_range_is_followed) {
  const RecordFormat format = format_of("kv64");
  for (const std::uint64_t seed : {5u, 6u, 7u, 8u}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Bytes records;
    for (int part = 0; part < 8; ++part) {  // narrow ranges in random places, one after the other
      const std::uint64_t low = random() >> 1, width = std::uint64_t{1} << (8 * random.below(7));
      for (int i = 0; i < 20000; ++i) {
        const std::uint64_t record[2] = {low + random.below(width), random()};
        const auto* bytes = reinterpret_cast<const std::byte*>(record);
        records.insert(records.end(), bytes, bytes + sizeof record);
      }
    }
    Harness harness(format, {.memory_bytes = 700 * kKiB}, seed);
    const auto runs = harness.form_runs(records, seed % 2 == 0);
    ASSERT_NO_FATAL_FAILURE(expect_runs_of(format, runs, records));
  }
}

TEST(CpuChunkSorter, keys_that_agree_beyond_what_splitters_hold_are_sorted) {
  for (const std::size_t prefix : {200u, 260u, 296u}) {
    SCOPED_TRACE(prefix);
    const RecordFormat format = format_of("fixed:300");
    Random random(prefix);
    const Bytes records =
        test::common_prefix_records(format, 3 * kMiB / format.record_bytes, prefix, random);
    Harness harness(format, {.memory_bytes = 700 * kKiB}, prefix);
    const auto runs = harness.form_runs(records);
    ASSERT_NO_FATAL_FAILURE(expect_runs_of(format, runs, records));
  }
}

TEST(CpuChunkSorter, works_in_the_smallest_memory_that_can_be_planned) {
  std::uint64_t seed = 300;
  for (const RecordFormat& format :
       {format_of("u32"), format_of("kv64"), format_of("gensort"), format_of("fixed:5000")}) {
    for (const unsigned threads : {1u, 2u, 4u}) {
      const KeyLayout layout(format);
      Shape shape{.memory_bytes = 64 * kKiB, .threads = threads, .push_bytes = 20 * kKiB};
      const auto fits = [&] {
        try {
          Harness harness(format, shape, 1);
          return true;
        } catch (const std::bad_optional_access&) {  // there is no plan
          return false;
        }
      };
      while (!fits()) shape.memory_bytes += 4 * kKiB;
      for (const test::Distribution& distribution : test::distributions()) {
        SCOPED_TRACE(format.name + " threads " + std::to_string(threads) + " " + distribution.name +
                     " seed " + std::to_string(++seed));
        Random random(seed);
        const Bytes records = distribution.make(format, kMiB / 2 / format.record_bytes, random);
        Harness harness(format, shape, seed);
        const auto runs = harness.form_runs(records, seed % 2 == 0);
        ASSERT_NO_FATAL_FAILURE(expect_runs_of(format, runs, records));
      }
    }
  }
}

// A bucket of one key holds many more of them than a sorter takes.
TEST(CpuChunkSorter, frequent_keys_of_tiny_records_leave_in_pieces_that_fit) {
  const RecordFormat format = format_of("fixed:1", {"0:u8"});
  Random random(7);
  Bytes records(8 * kMiB);
  for (std::byte& record : records) record = std::byte(random.below(3));
  Harness harness(format, {.memory_bytes = 2 * kMiB, .piece_bytes = 300}, 7);
  ASSERT_LT(harness.geometry().piece_capacity, 2 * kKiB);
  const auto runs = harness.form_runs(records, false);
  ASSERT_NO_FATAL_FAILURE(expect_runs_of(format, runs, records));
}

TEST(CpuChunkSorter, sealed_without_input_it_is_finished) {
  Harness harness(format_of("u64"), {}, 1);
  EXPECT_FALSE(harness.sorter().finished());
  harness.sorter().seal();
  EXPECT_FALSE(harness.sorter().pull());
  EXPECT_TRUE(harness.sorter().finished());
  EXPECT_EQ(harness.sorter().input_hash(), MultisetHash{});
}

TEST(CpuChunkSorter, what_fits_in_memory_is_held_back_until_the_input_ends) {
  const RecordFormat format = format_of("u64");
  Random random(9);
  const std::size_t block = 100, count = 9000;
  const Bytes records = test::random_records(format, count, random);
  Harness harness(format, {}, 9);
  ASSERT_LE(4 * count, harness.resident_records());
  for (std::size_t next = 0; next < count;) {
    const std::size_t part = std::min(block, count - next);
    if (harness.push({records.data() + next * 8, part})) {
      next += part;
    } else {
      harness.wait();
    }
    EXPECT_FALSE(harness.sorter().pull());
  }
}

// What is pulled first may be pulled when the input has ended, however early its bucket was closed.
TEST(CpuChunkSorter, tells_whether_what_is_pulled_is_the_only_run) {
  const RecordFormat format = format_of("u64");
  for (const bool fills_memory : {false, true}) {
    Random random(11);
    const Bytes records = test::random_records(format, 300000, random);
    Harness harness(format, {}, 11);
    const std::size_t block = harness.geometry().push_records;
    const std::size_t few = harness.resident_records() / 8;
    std::size_t next = 0;
    for (std::size_t before = next + 1; before != next;) {
      before = next;
      while ((fills_memory || next < few) && harness.push({records.data() + next * 8, block})) {
        next += block;
      }
      while (harness.taken_records() < next) harness.wait();
    }
    if (fills_memory) {
      EXPECT_FALSE(harness.push({records.data() + next * 8, block}));
    }
    harness.sorter().seal();
    EXPECT_EQ(harness.sorter().may_be_several_runs(), fills_memory);
    for (;;) {
      while (harness.pull(1)) {
      }
      if (harness.sorter().finished() && harness.pieces_running() == 0) break;
      harness.wait();
    }
    if (!fills_memory) {
      EXPECT_EQ(harness.pieces_of_runs().size(), 1u);
    }
  }
}

TEST(CpuChunkSorter, full_it_refuses_blocks_until_pieces_have_left) {
  const RecordFormat format = format_of("u64");
  Random random(10);
  const Bytes records = test::random_records(format, 300000, random);
  Harness harness(format, {}, 10);
  ASSERT_LE(4 * harness.resident_records(), 300000u);
  const std::size_t block = harness.geometry().push_records;
  std::size_t next = 0;
  const auto push = [&] {
    if (!harness.push({records.data() + next * 8, block})) return false;
    next += block;
    return true;
  };
  // Without pulling, it takes what fits in memory and no more.
  for (std::size_t before = next + 1; before != next;) {
    before = next;
    while (push()) {
    }
    while (harness.taken_records() < next) harness.wait();
  }
  EXPECT_GT(next, harness.resident_records() / 3);
  EXPECT_LE(next, 2 * harness.geometry().region_bytes / 8);
  EXPECT_FALSE(push());
  const std::size_t held = next;
  while (next < held + 10 * block) {
    while (harness.pull(1)) {
    }
    while (push()) {
    }
    if (next < held + 10 * block) harness.wait();
  }
  EXPECT_GE(next, held + 10 * block);
  while (harness.pieces_running() > 0) harness.wait();
}

TEST(CpuChunkSorter, may_be_given_up_at_any_time) {
  const RecordFormat format = format_of("gensort");
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
    Random random(seed);
    const Bytes records = test::random_records(format, 20000, random);
    Harness harness(format, {}, seed);
    std::size_t next = 0;
    for (std::uint64_t i = 0; i < 20 * seed; ++i) {
      if (harness.push({records.data() + next * 100, 20})) next += 20;
    }
  }  // destroyed with blocks on their way
}

TEST(CpuChunkGeometry, too_little_memory_is_refused) {
  const KeyLayout layout(format_of("u64"));
  for (const std::size_t bytes : {std::size_t{0}, kKiB, 50 * kKiB}) {
    EXPECT_FALSE(CpuChunkGeometry::plan(bytes, layout, 2, 1000, 1000)) << bytes;
  }
}

}  // namespace
}  // namespace xxl
