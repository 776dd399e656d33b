// Whole sort-merge joins, over real files, with real queues and with simulated ones.
#include "job/join/sort_merge_join.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "gpu/simulated/simulated_device.h"
#include "gpu/sort/gpu_accelerator.h"
#include "join_test_support.h"
#include "simulated_queue.h"

namespace xxl {
namespace {

using io::test::file_text;
using io::test::write_file;
using test::Bytes;
using test::format_of;
using test::keyed_records;
using test::text_of;

class SortMergeJoinTest : public test::WholeSortTest {
 protected:
  FixedJoinOptions options(const RecordFormat& r, const RecordFormat& s, JoinKind kind,
                           std::uint64_t memory = 2 * kMiB) const {
    FixedJoinOptions options;
    options.how = kind;
    options.inputs = {directory_ / "r", directory_ / "s"};
    options.formats = {r, s};
    options.output = output_;
    options.memory_bytes = memory;
    options.scratch_dirs = {scratch_};
    options.threads = 2;
    return options;
  }

  JoinReport expect_joined(const FixedJoinOptions& options, const Bytes& r, const Bytes& s) {
    write_file(options.inputs[0], text_of(r));
    write_file(options.inputs[1], text_of(s));
    const JoinReport report = sort_merge_join(options);
    const RowLayout rows(options.formats, options.how, options.layout);
    const Bytes expected = test::joined_rows(options.formats, options.how, rows, r, s);
    EXPECT_EQ(report.rows, expected.size() / rows.row_bytes());
    if (!options.count_only) {
      EXPECT_TRUE(file_text(options.output) == text_of(expected)) << "the output is wrong";
      EXPECT_EQ(report.checksum, test::hash_of(expected, rows.row_bytes()).sum);
      std::filesystem::remove(options.output);
    }
    EXPECT_EQ(report.sides[0].records, r.size() / options.formats[0].record_bytes);
    EXPECT_EQ(report.sides[1].records, s.size() / options.formats[1].record_bytes);
    expect_nothing_left();
    return report;
  }
};

struct Formats {
  std::string name;
  RecordFormat r;
  RecordFormat s;
};

class SortMergeJoinOfFormats : public SortMergeJoinTest,
                               public testing::WithParamInterface<Formats> {};

INSTANTIATE_TEST_SUITE_P(
    Formats, SortMergeJoinOfFormats,
    testing::Values(Formats{"kv32", format_of("kv32"), format_of("kv32")},
                    Formats{"kv64", format_of("kv64"), format_of("kv64")},
                    Formats{"keys_alone", format_of("u64"), format_of("kv64")},
                    Formats{"big_endian", format_of("fixed:12", {"4:u32be"}), format_of("kv32")},
                    Formats{"two_fields", format_of("fixed:30", {"20:u16", "3:bytes12"}),
                            format_of("fixed:50", {"0:u16be", "30:bytes12"})},
                    Formats{"descending", format_of("fixed:9", {"1:i32:desc"}),
                            format_of("i32", {"0:i32:desc"})},
                    Formats{"large", format_of("fixed:3000", {"2990:bytes10"}),
                            format_of("gensort")}),
    [](const auto& info) { return info.param.name; });

TEST_P(SortMergeJoinOfFormats, joins_what_does_not_fit_in_memory) {
  std::uint64_t seed = 100;
  for (const JoinKind kind : test::kAllJoinKinds) {
    for (const double keys_a_record : {0.1, 3.0}) {
      SCOPED_TRACE(test::name_of(kind) + " keys " + std::to_string(keys_a_record) + " seed " +
                   std::to_string(++seed));
      Random random(seed);
      const auto& [name, r_format, s_format] = GetParam();
      const std::size_t r_count = 5 * kMiB / 2 / r_format.record_bytes;
      const std::size_t s_count = 3 * kMiB / s_format.record_bytes;
      const auto distinct =
          static_cast<std::uint64_t>(keys_a_record * static_cast<double>(s_count)) + 1;
      expect_joined(options(r_format, s_format, kind),
                    keyed_records(r_format, r_count, distinct, random),
                    keyed_records(s_format, s_count, distinct, random));
    }
  }
}

TEST_F(SortMergeJoinTest, joins_sides_of_any_size) {
  const RecordFormat kv64 = format_of("kv64");
  Random random(7);
  for (const JoinKind kind : test::kAllJoinKinds) {
    for (const std::size_t r_count : {0, 1, 150'000}) {
      for (const std::size_t s_count : {0, 1, 150'000}) {
        SCOPED_TRACE(test::name_of(kind) + " of " + std::to_string(r_count) + " and " +
                     std::to_string(s_count));
        expect_joined(options(kv64, kv64, kind), keyed_records(kv64, r_count, 100'000, random),
                      keyed_records(kv64, s_count, 100'000, random));
      }
    }
  }
}

TEST_F(SortMergeJoinTest, does_not_sort_what_is_sorted) {
  const RecordFormat kv64 = format_of("kv64"), gensort = format_of("gensort", {"3:u64be"});
  Random random(8);
  const Bytes r = keyed_records(kv64, 200'000, 100'000, random);
  const Bytes s = keyed_records(gensort, 50'000, 100'000, random);
  const Bytes sorted_r = test::sorted_records(kv64, r), sorted_s = test::sorted_records(gensort, s);
  for (const JoinKind kind : test::kAllJoinKinds) {
    FixedJoinOptions both = options(kv64, gensort, kind);
    both.presorted = {true, true};
    EXPECT_TRUE(expect_joined(both, sorted_r, sorted_s).plan.sides[0].presorted);
    FixedJoinOptions one = options(kv64, gensort, kind);
    one.presorted = {false, true};
    const JoinReport report = expect_joined(one, r, sorted_s);
    EXPECT_FALSE(report.plan.sides[0].presorted);
    EXPECT_GT(report.sides[0].runs, 0u);
    EXPECT_EQ(report.sides[1].runs, 0u);
    // Found out by itself.
    const JoinReport found = expect_joined(options(kv64, gensort, kind), sorted_r, s);
    EXPECT_TRUE(found.plan.sides[0].presorted);
    EXPECT_EQ(found.sides[0].runs, 0u);
  }
}

TEST_F(SortMergeJoinTest, starts_again_if_what_looked_sorted_is_not) {
  const RecordFormat kv64 = format_of("kv64");
  Random random(9);
  Bytes r = test::sorted_records(kv64, keyed_records(kv64, 1'000'000, 100'000, random));
  std::swap_ranges(r.end() - 16 * 3001, r.end() - 16 * 3000, r.begin() + 16 * 10000);
  const Bytes s = keyed_records(kv64, 1000, 100'000, random);
  const JoinReport report = expect_joined(options(kv64, kv64, JoinKind::inner), r, s);
  EXPECT_FALSE(report.plan.sides[0].presorted);
}

TEST_F(SortMergeJoinTest, disorder_of_a_presorted_side_is_an_error) {
  const RecordFormat kv64 = format_of("kv64");
  Random random(10);
  Bytes r = test::sorted_records(kv64, keyed_records(kv64, 100'000, 50'000, random));
  std::swap_ranges(r.begin() + 16 * 70'000, r.begin() + 16 * 70'001, r.begin() + 16 * 10'000);
  FixedJoinOptions join = options(kv64, kv64, JoinKind::inner);
  join.presorted = {true, true};
  write_file(join.inputs[0], text_of(r));
  write_file(join.inputs[1], text_of(test::sorted_records(kv64, r)));
  const Error error = error_of_sort(output_, [&] { sort_merge_join(join); });
  EXPECT_EQ(error.code(), ErrorCode::bad_input);
  EXPECT_NE(std::string(error.what()).find("record 10001 is not in order"), std::string::npos)
      << error.what();
}

TEST_F(SortMergeJoinTest, what_fits_in_memory_needs_no_scratch) {
  for (const char* record : {"kv64", "gensort"}) {
    const RecordFormat format = format_of(record);
    Random random(12);
    for (const JoinKind kind : test::kAllJoinKinds) {
      const Bytes r = keyed_records(format, kMiB / format.record_bytes, 50'000, random);
      const Bytes s = keyed_records(format, 2 * kMiB / format.record_bytes, 50'000, random, 2);
      const JoinReport report = expect_joined(options(format, format, kind, 16 * kMiB), r, s);
      EXPECT_EQ(report.scratch_bytes, 0u);
      EXPECT_EQ(report.sides[0].runs, 0u);
    }
  }
}

// On simulated GPUs.
class GpuJoinTest : public SortMergeJoinTest {
 protected:
  static std::unique_ptr<gpu::GpuAccelerator> accelerator(std::uint64_t memory) {
    gpu::GpuOptions options;
    options.find = [memory](std::uint64_t) {
      gpu::GpuOptions::Found found;
      for (int i = 0; i < 2; ++i) {
        found.devices.push_back(std::make_unique<gpu::SimulatedDevice>(
            i, gpu::SimulatedOptions{.memory_bytes = memory}));
      }
      return found;
    };
    return std::make_unique<gpu::GpuAccelerator>(std::move(options));
  }
};

TEST_F(GpuJoinTest, sides_that_fit_on_the_gpus_together_need_no_scratch) {
  const RecordFormat kv64 = format_of("kv64");
  Random random(13);
  for (const JoinKind kind : test::kAllJoinKinds) {
    const auto gpus = accelerator(64 * kMiB);
    FixedJoinOptions join = options(kv64, kv64, kind, 16 * kMiB);
    join.accelerator = gpus.get();
    join.acceleration = Acceleration::always;
    const JoinReport report = expect_joined(join, keyed_records(kv64, 600'000, 400'000, random),
                                            keyed_records(kv64, 600'000, 400'000, random));
    EXPECT_EQ(report.scratch_bytes, 0u);
    EXPECT_EQ(report.accelerator.devices.size(), 2u);
  }
}

TEST_F(GpuJoinTest, sides_that_do_not_fit_become_runs) {
  const RecordFormat kv64 = format_of("kv64");
  Random random(14);
  for (const std::uint64_t memory : {6 * kMiB, 12 * kMiB}) {
    const auto gpus = accelerator(memory);
    FixedJoinOptions join = options(kv64, kv64, JoinKind::full, 8 * kMiB);
    join.accelerator = gpus.get();
    join.acceleration = Acceleration::always;
    const JoinReport report = expect_joined(join, keyed_records(kv64, 900'000, 500'000, random),
                                            keyed_records(kv64, 900'000, 500'000, random));
    EXPECT_GT(report.scratch_bytes, 0u);
  }
}

// One key has so many records on either side that they do not fit in memory.
TEST_F(SortMergeJoinTest, joins_groups_larger_than_memory) {
  const RecordFormat fixed = format_of("fixed:100", {"0:u16"});
  Random random(11);
  struct Case {
    std::size_t r;
    std::size_t s;
  };
  for (const JoinKind kind : test::kAllJoinKinds) {
    for (const auto [r_group, s_group] :
         {Case{1, 15'000}, Case{15'000, 1}, Case{2, 15'000}, Case{15'000, 3}, Case{0, 15'000},
          Case{15'000, 0}, Case{1, 1}}) {
      SCOPED_TRACE(test::name_of(kind) + " groups " + std::to_string(r_group) + " x " +
                   std::to_string(s_group));
      const auto relation = [&](std::size_t group) {
        Bytes records = keyed_records(fixed, 2000, 1000, random);
        Bytes large = keyed_records(fixed, group, 1, random);
        for (std::size_t at = 0; at < large.size(); at += 100) large[at + 1] = std::byte{1};
        records.insert(records.end(), large.begin(), large.end());
        const Bytes more = keyed_records(fixed, 2000, 2000, random);
        records.insert(records.end(), more.begin(), more.end());
        return records;
      };
      FixedJoinOptions join = options(fixed, fixed, kind, kMiB);
      const Bytes r = relation(r_group), s = relation(s_group);
      const JoinReport report = expect_joined(join, r, s);
      if (r_group == 2 && keeps_pairs(kind)) {
        EXPECT_GT(report.spilled_bytes, kMiB);
      }
      join.count_only = true;
      expect_joined(join, r, s);
      join.count_only = false;
      join.presorted = {true, true};
      expect_joined(join, test::sorted_records(fixed, r), test::sorted_records(fixed, s));
    }
  }
}

TEST_F(SortMergeJoinTest, joins_skewed_keys) {
  const RecordFormat kv32 = format_of("kv32");
  for (std::uint64_t seed = 20; seed < 23; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Bytes r = keyed_records(kv32, 20'000, 300'000, random);
    const Bytes s = keyed_records(kv32, 600'000, 300'000, random, 3);
    expect_joined(options(kv32, kv32, JoinKind::left), r, s);
    expect_joined(options(kv32, kv32, JoinKind::full), s, r);
  }
}

TEST_F(SortMergeJoinTest, joins_whatever_the_order_of_completion) {
  const RecordFormat kv64 = format_of("kv64");
  for (std::uint64_t seed = 30; seed < 33; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    FixedJoinOptions join = options(kv64, kv64, JoinKind::full);
    join.queue_factory = test::simulated_queues(seed);
    expect_joined(join, keyed_records(kv64, 300'000, 200'000, random),
                  keyed_records(kv64, 300'000, 200'000, random));
  }
}

TEST_F(SortMergeJoinTest, rows_may_be_what_one_likes) {
  const RecordFormat kv64 = format_of("kv64");
  Random random(40);
  FixedJoinOptions join = options(kv64, kv64, JoinKind::full);
  join.layout = "m,2.8:4,0,1.12:2";
  expect_joined(join, keyed_records(kv64, 30'000, 20'000, random),
                keyed_records(kv64, 30'000, 20'000, random));
}

// Merges have memory for a few records only.
TEST_F(SortMergeJoinTest, joins_large_records_in_little_memory) {
  const RecordFormat format = format_of("fixed:10000", {"0:u64"});
  Random random(42);
  for (const std::size_t records : {150, 200, 250, 400}) {
    expect_joined(options(format, format, JoinKind::inner),
                  keyed_records(format, records, 100, random),
                  keyed_records(format, records, 100, random));
  }
}

TEST_F(SortMergeJoinTest, too_little_memory_is_told_at_once) {
  const RecordFormat large = format_of("fixed:1000000", {"0:u64"});
  Random random(41);
  const FixedJoinOptions join = options(large, large, JoinKind::inner, kMiB);
  write_file(join.inputs[0], text_of(keyed_records(large, 3, 3, random)));
  write_file(join.inputs[1], text_of(keyed_records(large, 3, 3, random)));
  const Error error = error_of_sort(output_, [&] { sort_merge_join(join); });
  EXPECT_EQ(error.code(), ErrorCode::no_space);
}

}  // namespace
}  // namespace xxl
