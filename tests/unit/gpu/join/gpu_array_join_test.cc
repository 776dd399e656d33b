// Joins of sorted arrays on simulated devices, compared with nested loops over groups.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/units.h"
#include "gpu/join/array_join.h"
#include "gpu/simulated/simulated_device.h"
#include "sort_test_support.h"

namespace xxl::gpu {
namespace {

using test::Bytes;
using test::format_of;

// Records of a kind with keys below `distinct`, half of all with key 3 if `skewed`, sorted.
struct Shape {
  std::size_t count = 0;
  std::uint64_t distinct = 1;
  bool skewed = false;
};

Bytes make_sorted(const RecordFormat& format, const Shape& shape, std::uint64_t seed) {
  Random random(seed);
  Bytes records = test::random_records(format, shape.count, random);
  const KeyField& key = format.key.front();
  for (std::size_t i = 0; i < shape.count; ++i) {
    std::uint64_t value = random.below(shape.distinct);
    if (shape.skewed && random.below(2) == 0) value = 3 % shape.distinct;
    if (key.type == KeyType::f64) value = std::bit_cast<std::uint64_t>(3.0 - value);
    if (key.type == KeyType::i32) value = static_cast<std::uint32_t>(3 - static_cast<int>(value));
    std::memcpy(records.data() + i * format.record_bytes, &value, key.length);
  }
  return test::sorted_records(format, records);
}

// One record behind the other, for sorted R and S; missing values are bytes of `missing`.
Bytes expected_rows(const RecordFormat& r_format, const Bytes& r, const RecordFormat& s_format,
                    const Bytes& s, const WantedRows& wanted, std::uint64_t missing) {
  const std::size_t r_size = r_format.record_bytes, s_size = s_format.record_bytes;
  const std::size_t key = r_format.key.front().length;
  const std::size_t n = r.size() / r_size, m = s.size() / s_size;
  Bytes rows;
  const auto append = [&](const std::byte* from, std::size_t bytes) {
    rows.insert(rows.end(), from, from + bytes);
  };
  const auto* const none = reinterpret_cast<const std::byte*>(&missing);
  const auto order = [&](std::size_t i, std::size_t j) {
    return test::compare_field(r.data() + i * r_size, s.data() + j * s_size, r_format.key.front()) *
           (r_format.key.front().descending ? -1 : 1);
  };
  std::size_t j = 0;
  const auto put_r = [&](std::size_t i, const std::byte* s_value) {
    append(r.data() + i * r_size, r_size);
    if (wanted.has_s()) append(s_value, s_size - key);
  };
  const auto put_lone_s = [&] {
    if (wanted.lone_s) {
      append(s.data() + j * s_size, key);
      append(none, r_size - key);
      append(s.data() + j * s_size + key, s_size - key);
    }
  };
  std::size_t end = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const bool same =
        i > 0 && std::memcmp(r.data() + i * r_size, r.data() + (i - 1) * r_size, key) == 0;
    if (!same) {
      for (j = end; j < m && order(i, j) > 0; ++j) put_lone_s();
      for (end = j; end < m && order(i, end) == 0;) ++end;
    }
    if (j == end && wanted.lone_r) put_r(i, none);
    if (j < end && wanted.matched_r) put_r(i, none);
    if (!wanted.pairs) continue;
    for (std::size_t p = j; p < end; ++p) put_r(i, s.data() + p * s_size + key);
  }
  for (j = end; j < m; ++j) put_lone_s();
  return rows;
}

constexpr WantedRows kKinds[] = {kInnerJoin, kLeftJoin, kRightJoin,
                                 kFullJoin,  kSemiJoin, kAntiJoin};

struct Devices {
  explicit Devices(std::size_t count, const SimulatedOptions& options = {}) {
    for (std::size_t i = 0; i < count; ++i) {
      owned.push_back(std::make_unique<SimulatedDevice>(static_cast<int>(i), options));
      all.push_back(owned.back().get());
    }
  }
  std::vector<std::unique_ptr<SimulatedDevice>> owned;
  std::vector<Device*> all;
};

const Shape kShapes[] = {
    {0, 1},      {1, 1},    {7, 100},           {5000, 1'000'000}, {20000, 3000},
    {20000, 20}, {9000, 1}, {20000, 500, true}, {30000, 1u << 30},
};

void expect_joins(const RecordFormat& r_format, const RecordFormat& s_format, std::size_t devices,
                  std::size_t part_records, std::size_t task_rows) {
  const test::Watchdog watchdog;
  const KeyLayout r_layout(r_format), s_layout(s_format);
  Devices gpus(devices, {.memory_bytes = 64 * kMiB});
  const std::uint64_t missing = 0x1122334455667788u;
  ArrayJoinOptions options{.part_records = part_records, .missing = missing};
  options.threads = 2;
  options.task_rows = task_rows;
  ArrayJoiner joiner(gpus.all, r_layout, s_layout, options);
  options.host_rows = true;
  ArrayJoiner host_joiner(gpus.all, r_layout, s_layout, options);
  for (const Shape& r_shape : kShapes) {
    for (const Shape& s_shape : kShapes) {
      // Not too many pairs.
      if (r_shape.count / r_shape.distinct * s_shape.count > 500'000) continue;
      const bool both_skewed = r_shape.skewed && s_shape.skewed;
      if (both_skewed) continue;
      const Bytes r = make_sorted(r_format, r_shape, 1), s = make_sorted(s_format, s_shape, 2);
      for (const WantedRows& wanted : kKinds) {
        const Bytes expected = expected_rows(r_format, r, s_format, s, wanted, missing);
        for (ArrayJoiner* each : {&joiner, &host_joiner}) {
          Bytes rows(expected.size() + 3);
          const JoinCounts counts = each->join(r, s, wanted, rows);
          rows.resize(expected.size());
          ASSERT_EQ(counts.rows(wanted) * joiner.row_bytes(wanted), expected.size());
          ASSERT_TRUE(rows == expected)
              << r_shape.count << " of " << r_shape.distinct << ", " << s_shape.count << " of "
              << s_shape.distinct << " kind " << &wanted - kKinds << " on " << devices << " host "
              << (each == &host_joiner);
        }
        ASSERT_EQ(joiner.count(r, s).rows(wanted) * joiner.row_bytes(wanted), expected.size());
      }
    }
  }
}

TEST(ArrayJoiner, makes_the_rows_of_every_kind) {
  expect_joins(format_of("kv64"), format_of("kv64"), 1, 1000, 300);
}
TEST(ArrayJoiner, makes_them_with_tiles_of_several_parts_and_tasks_of_several_tiles) {
  expect_joins(format_of("kv32"), format_of("kv32"), 2, 30000, 20000);
}
TEST(ArrayJoiner, joins_records_with_and_without_values) {
  expect_joins(format_of("u64"), format_of("kv64"), 3, 2000, 1000);
  expect_joins(format_of("kv32"), format_of("u32"), 1, 5000, 1000);
}
TEST(ArrayJoiner, joins_signed_floating_and_descending_keys) {
  expect_joins(format_of("f64"), format_of("f64"), 2, 3000, 500);
  expect_joins(format_of("i32"), format_of("fixed:8", {"0:i32"}), 1, 1500, 500);
  expect_joins(format_of("fixed:16", {"0:f64:desc"}), format_of("fixed:8", {"0:f64:desc"}), 2, 3000,
               500);
}
TEST(ArrayJoiner, joins_on_many_devices) {
  for (const std::size_t devices : {5, 8}) {
    expect_joins(format_of("kv64"), format_of("u64"), devices, 700, 100);
  }
}

TEST(ArrayJoiner, gives_out_matches) {
  const RecordFormat format = format_of("kv64");
  const KeyLayout layout(format);
  Devices gpus(2);
  ArrayJoiner joiner(gpus.all, layout, layout, {.part_records = 1000, .threads = 3});
  const Bytes r = make_sorted(format, {20000, 5000}, 1);
  const Bytes s = make_sorted(format, {30000, 4000, true}, 2);
  std::mutex mutex;
  std::map<std::size_t, std::size_t> parts;  // of R
  std::size_t s_records = 0;
  std::uint64_t pairs = 0;
  const JoinCounts counts = joiner.matches(r, s, [&](const MatchedPart& matched) {
    const JoinPart& part = matched.part;
    const std::span ranges(matched.ranges, matched.ranges == nullptr ? 0 : part.r_count());
    const std::lock_guard lock(mutex);
    parts[part.first_r] = part.end_r;
    s_records += part.s_count();
    if (!part.needs_search()) {
      EXPECT_TRUE(ranges.empty());
      pairs += part.r_count() * part.s_count();
      return;
    }
    ASSERT_EQ(ranges.size(), part.r_count());
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      pairs += ranges[i].count;
      const std::byte* const key = r.data() + (part.first_r + i) * 16;
      for (std::size_t j = ranges[i].first; j < ranges[i].end(); ++j) {
        EXPECT_EQ(std::memcmp(key, s.data() + (part.first_s + j) * 16, 8), 0);
      }
    }
  });
  std::size_t at = 0;
  for (const auto& [first, end] : parts) {
    EXPECT_EQ(first, at);
    at = end;
  }
  EXPECT_EQ(at, 20000);
  EXPECT_EQ(s_records, 30000);
  EXPECT_EQ(pairs, counts.pairs);
  EXPECT_EQ(counts.rows(kInnerJoin) * 24,
            expected_rows(format, r, format, s, kInnerJoin, 0).size());
}

TEST(JoinCutter, cuts_parts_that_no_group_crosses_and_that_are_not_too_large) {
  const RecordFormat format = format_of("u64");
  const KeyLayout layout(format);
  for (const Shape& r_shape : kShapes) {
    for (const Shape& s_shape : kShapes) {
      const Bytes r = make_sorted(format, r_shape, 1), s = make_sorted(format, s_shape, 2);
      const auto relation = [](const Bytes& records) {
        Relation side;
        side.shape.item = {8, 0};
        side.shape.record_bytes = 8;
        side.records = records.data();
        side.count = records.size() / 8;
        return side;
      };
      const Relation a = relation(r), b = relation(s);
      for (const std::size_t distance : {1, 2, 10, 500, 100000}) {
        JoinCutter cutter(a, b, distance);
        JoinPart at;
        while (const auto part = cutter.next()) {
          EXPECT_EQ(part->first_r, at.end_r);
          EXPECT_EQ(part->first_s, at.end_s);
          EXPECT_GT(part->r_count() + part->s_count(), 0);
          const auto key_before = [&](std::size_t i, std::size_t j) {
            std::uint64_t key = 0;
            if (i > 0) key = a.key(i - 1);
            if (j > 0) key = std::max(key, b.key(j - 1));
            return key;
          };
          if (at.end_r + at.end_s > 0) {
            const std::uint64_t before = key_before(at.end_r, at.end_s);
            if (part->r_count() > 0) {
              EXPECT_LT(before, a.key(part->first_r));
            }
            if (part->s_count() > 0) {
              EXPECT_LT(before, b.key(part->first_s));
            }
          }
          if (part->one_group) {
            const std::uint64_t key = key_before(part->end_r, part->end_s);
            if (part->r_count() > 0) {
              EXPECT_EQ(a.key(part->first_r), key);
            }
            if (part->s_count() > 0) {
              EXPECT_EQ(b.key(part->first_s), key);
            }
          } else {
            EXPECT_LE(part->r_count() + part->s_count(), 2 * distance);
          }
          at = *part;
        }
        EXPECT_EQ(at.end_r, a.count);
        EXPECT_EQ(at.end_s, b.count);
      }
    }
  }
}

TEST(ArrayJoiner, works_with_little_memory_and_says_when_it_is_too_little) {
  const RecordFormat format = format_of("kv64");
  const KeyLayout layout(format);
  Devices gpus(1);
  const Bytes r = make_sorted(format, {20000, 5000}, 1), s = make_sorted(format, {30000, 4000}, 2);
  ArrayJoiner joiner(gpus.all, layout, layout, {.memory_bytes = 2 * kMiB});
  EXPECT_EQ(joiner.count(r, s).pairs * 24,
            expected_rows(format, r, format, s, kInnerJoin, 0).size());
  EXPECT_THROW(ArrayJoiner(gpus.all, layout, layout, {.memory_bytes = 64 * kKiB}), Error);
}

TEST(ArrayJoiner, refuses_what_it_cannot_join) {
  Devices gpus(1);
  const auto refuses = [&](const RecordFormat& r, const RecordFormat& s) {
    EXPECT_THROW(ArrayJoiner(gpus.all, KeyLayout(r), KeyLayout(s), {}), Error);
  };
  refuses(format_of("kv64"), format_of("kv32"));
  refuses(format_of("u64"), format_of("i64"));
  refuses(format_of("u64"), format_of("f64"));
  refuses(format_of("gensort"), format_of("gensort"));
}

TEST(ArrayJoiner, says_when_rows_do_not_fit) {
  const RecordFormat format = format_of("kv64");
  const KeyLayout layout(format);
  Devices gpus(2);
  const Bytes r = make_sorted(format, {20000, 5000}, 1), s = make_sorted(format, {30000, 4000}, 2);
  for (const std::size_t short_by : {1, 100000, 10}) {
    ArrayJoiner joiner(gpus.all, layout, layout, {.part_records = 1000, .threads = 2});
    Bytes rows(joiner.count(r, s).pairs * 24 - short_by);
    if (short_by == 10) rows.clear();
    try {
      joiner.join(r, s, kInnerJoin, rows);
      FAIL() << "must throw";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::no_space);
    }
  }
}

TEST(ArrayJoiner, tells_of_any_operation_that_fails) {
  const RecordFormat format = format_of("kv64");
  const KeyLayout layout(format);
  const Bytes r = make_sorted(format, {20000, 5000}, 1), s = make_sorted(format, {30000, 4000}, 2);
  Bytes rows(expected_rows(format, r, format, s, kInnerJoin, 0).size());
  for (const std::string failing : {"copy in", "load", "match", "write matches", "copy out"}) {
    for (const int nth : {1, 2, 20}) {
      std::atomic<int> calls = 0;
      SimulatedOptions options;
      options.before = [&](const char* operation) {
        if (operation == failing && ++calls >= nth) {
          throw Error(ErrorCode::device, "it fails: " + failing);
        }
      };
      Devices gpus(3, options);
      ArrayJoiner joiner(gpus.all, layout, layout, {.part_records = 1000, .threads = 2});
      try {
        joiner.join(r, s, kInnerJoin, rows);
        ADD_FAILURE() << failing;
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("it fails"), std::string::npos);
      }
    }
  }
}

}  // namespace
}  // namespace xxl::gpu
