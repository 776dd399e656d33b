// Joins by hash on simulated devices, compared with a map of lists.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/units.h"
#include "gpu/join/array_hash_join.h"
#include "gpu/simulated/simulated_device.h"
#include "sort_test_support.h"

namespace xxl::gpu {
namespace {

using test::Bytes;
using test::format_of;

struct HashDevices {
  explicit HashDevices(std::size_t count, const SimulatedOptions& options = {}) {
    for (std::size_t i = 0; i < count; ++i) {
      owned.push_back(std::make_unique<SimulatedDevice>(static_cast<int>(i), options));
      all.push_back(owned.back().get());
    }
  }
  std::vector<std::unique_ptr<SimulatedDevice>> owned;
  std::vector<Device*> all;
};

// In no order; keys below `distinct`, half of all 3 if `skewed`.
struct Side {
  std::size_t count = 0;
  std::uint64_t distinct = 1;
  bool skewed = false;
};

Bytes make_records(const RecordFormat& format, const Side& side, std::uint64_t seed) {
  Random random(seed);
  Bytes records = test::random_records(format, side.count, random);
  for (std::size_t i = 0; i < side.count; ++i) {
    std::uint64_t key = random.below(side.distinct);
    if (side.skewed && random.below(2) == 0) key = 3 % side.distinct;
    std::memcpy(records.data() + i * format.record_bytes, &key, format.key.front().length);
  }
  return records;
}

// Rows of one size, one after the other, in order.
Bytes in_order(const Bytes& rows, std::size_t row_bytes) {
  std::vector<std::string_view> order;
  for (std::size_t at = 0; at < rows.size(); at += row_bytes) {
    order.emplace_back(reinterpret_cast<const char*>(rows.data()) + at, row_bytes);
  }
  std::sort(order.begin(), order.end());
  Bytes sorted;
  sorted.reserve(rows.size());
  for (const std::string_view row : order) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(row.data());
    sorted.insert(sorted.end(), bytes, bytes + row.size());
  }
  return sorted;
}

Bytes expected_hash_rows(const RecordFormat& probe_format, const Bytes& probe,
                         const RecordFormat& build_format, const Bytes& build,
                         const WantedRows& wanted, std::uint64_t missing, std::size_t row_bytes) {
  const std::size_t key = probe_format.key.front().length;
  const auto text = [](const Bytes& bytes, std::size_t at, std::size_t size) {
    return std::string_view(reinterpret_cast<const char*>(bytes.data()) + at, size);
  };
  std::unordered_map<std::string_view, std::vector<std::string_view>> partners;
  const std::size_t build_bytes = build_format.record_bytes;
  for (std::size_t at = 0; at < build.size(); at += build_bytes) {
    partners[text(build, at, key)].push_back(text(build, at + key, build_bytes - key));
  }
  Bytes rows;
  const auto append = [&rows](std::string_view part) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(part.data());
    rows.insert(rows.end(), bytes, bytes + part.size());
  };
  const std::string_view none(reinterpret_cast<const char*>(&missing),
                              wanted.has_s() ? build_bytes - key : 0);
  for (std::size_t at = 0; at < probe.size(); at += probe_format.record_bytes) {
    const std::string_view record = text(probe, at, probe_format.record_bytes);
    const auto found = partners.find(record.substr(0, key));
    if (found == partners.end()) {
      if (!wanted.lone_r) continue;
      append(record);
      append(none);
    } else if (wanted.pairs) {
      for (const std::string_view value : found->second) {
        append(record);
        append(value);
      }
    } else if (wanted.matched_r) {
      append(record);
    }
  }
  return in_order(rows, row_bytes);
}

const Side kProbes[] = {{0, 1}, {1, 1}, {30000, 4000}, {20001, 100'000}, {25000, 500, true}};
const Side kBuilds[] = {{0, 1},          {1, 1},          {5000, 4000},
                        {8001, 100'000}, {20000, 20'000}, {3000, 500, true}};

// One way of joining.
struct Way {
  std::size_t devices = 1;
  HashJoinOptions options = {};
};

void expect_hash_joins(const char* probe_record, const char* build_record,
                       const std::vector<Way>& ways) {
  const test::Watchdog watchdog;
  const RecordFormat probe_format = format_of(probe_record), build_format = format_of(build_record);
  const KeyLayout probe_layout(probe_format), build_layout(build_format);
  constexpr std::uint64_t kMissing = 0x1122334455667788u;
  std::vector<std::unique_ptr<HashDevices>> gpus;
  std::vector<std::unique_ptr<HashJoiner>> joiners;
  for (const Way& way : ways) {
    gpus.push_back(std::make_unique<HashDevices>(way.devices));
    HashJoinOptions options = way.options;
    options.threads = 2;
    options.missing = kMissing;
    joiners.push_back(
        std::make_unique<HashJoiner>(gpus.back()->all, probe_layout, build_layout, 20000, options));
  }
  for (const Side& probe_side : kProbes) {
    for (const Side& build_side : kBuilds) {
      if (probe_side.skewed && build_side.skewed) continue;
      const Bytes probe = make_records(probe_format, probe_side, 1);
      const Bytes build = make_records(build_format, build_side, 2);
      for (const WantedRows& wanted : {kInnerJoin, kLeftJoin, kSemiJoin, kAntiJoin}) {
        const std::size_t row_bytes = joiners.front()->row_bytes(wanted);
        const Bytes expected = expected_hash_rows(probe_format, probe, build_format, build, wanted,
                                                  kMissing, row_bytes);
        for (std::size_t way = 0; way < ways.size(); ++way) {
          Bytes rows(expected.size());
          const JoinCounts counts = joiners[way]->join(probe, build, wanted, rows);
          ASSERT_EQ(counts.rows(wanted) * row_bytes, expected.size());
          ASSERT_TRUE(in_order(rows, row_bytes) == expected)
              << probe_side.count << " " << build_side.count << ", way " << way;
          ASSERT_EQ(joiners[way]->count(probe, build).rows(wanted) * row_bytes, expected.size());
        }
      }
    }
  }
}

TEST(HashJoiner, makes_the_rows_of_every_kind) {
  expect_hash_joins("kv64", "kv64", {{}});
  expect_hash_joins("kv32", "kv32", {{}});
}
TEST(HashJoiner, makes_rows_of_many_batches_on_many_devices) {
  const HashJoinOptions options{.batch_records = 1000};
  expect_hash_joins("kv64", "kv64", {{1, options}, {3, options}, {8, options}});
}
TEST(HashJoiner, joins_records_with_and_without_values) {
  const HashJoinOptions options{.batch_records = 5000};
  expect_hash_joins("u64", "kv64", {{2, options}});
  expect_hash_joins("kv64", "u64", {{2, options}});
  expect_hash_joins("u32", "kv32", {{1, options}});
}

// Memory for places, and for a part of the table.
TEST(HashJoiner, keeps_a_part_of_the_table_in_host_memory) {
  std::vector<Way> ways;
  for (const std::size_t devices : {1, 3}) {
    for (const std::size_t memory : {772 * kKiB, 840 * kKiB, 1000 * kKiB}) {
      ways.push_back({devices, {.memory_bytes = memory, .batch_records = 4096}});
    }
  }
  expect_hash_joins("kv64", "kv64", ways);
}

TEST(HashJoiner, says_how_much_of_the_table_is_near) {
  const RecordFormat format = format_of("kv64");
  const KeyLayout layout(format);
  HashDevices gpus(1);
  const Bytes probe = make_records(format, {30000, 20000}, 1);
  const auto near_part = [&](std::uint64_t memory, const Side& build) {
    HashJoiner joiner(gpus.all, layout, layout, 20000,
                      {.memory_bytes = memory, .batch_records = 4096, .threads = 2});
    joiner.count(probe, make_records(format, build, 2));
    return joiner.near_part();
  };
  const Side unique{20000, 1u << 30}, same{20000, 1};
  EXPECT_EQ(near_part(0, unique), 1);
  EXPECT_EQ(near_part(0, same), 1);
  const double part = near_part(920 * kKiB, unique);
  EXPECT_GT(part, 0.2);
  EXPECT_LT(part, 0.9);
  // All records have one key: there is room for them only if that key is far.
  EXPECT_LT(near_part(920 * kKiB, same), 1);
  EXPECT_THROW(near_part(100 * kKiB, unique), Error);
}

TEST(HashJoiner, keeps_the_order_of_the_probe_side_in_a_batch) {
  const RecordFormat format = format_of("kv64");
  const KeyLayout layout(format);
  HashDevices gpus(1);
  const Bytes probe = make_records(format, {20000, 3000}, 1);
  Bytes build;
  for (std::uint64_t key = 0; key < 3000; ++key) {
    const std::uint64_t record[2] = {key, key * key};
    const auto* const from = reinterpret_cast<const std::byte*>(record);
    build.insert(build.end(), from, from + sizeof record);
  }
  HashJoiner joiner(gpus.all, layout, layout, 3000, {});
  Bytes rows(20000 * 24);
  joiner.join(probe, build, kInnerJoin, rows);
  for (std::size_t i = 0; i < 20000; ++i) {
    ASSERT_EQ(std::memcmp(rows.data() + i * 24, probe.data() + i * 16, 16), 0);
  }
}

TEST(HashJoiner, refuses_what_it_cannot_join) {
  HashDevices gpus(1);
  const KeyLayout kv64(format_of("kv64")), kv32(format_of("kv32")), gensort(format_of("gensort"));
  EXPECT_THROW(HashJoiner(gpus.all, kv64, kv32, 10, {}), Error);
  EXPECT_THROW(HashJoiner(gpus.all, gensort, gensort, 10, {}), Error);
  EXPECT_THROW(HashJoiner(gpus.all, kv64, kv64, ~std::uint32_t{0}, {}), Error);
  HashJoiner joiner(gpus.all, kv64, kv64, 10, {});
  EXPECT_THROW(joiner.join({}, {}, kFullJoin, {}), Error);
}

TEST(HashJoiner, says_when_rows_do_not_fit) {
  const RecordFormat format = format_of("kv64");
  const KeyLayout layout(format);
  HashDevices gpus(2);
  const Bytes probe = make_records(format, {30000, 4000}, 1);
  const Bytes build = make_records(format, {5000, 4000}, 2);
  HashJoiner joiner(gpus.all, layout, layout, 5000, {.batch_records = 4000, .threads = 2});
  Bytes rows(joiner.count(probe, build).pairs * 24 - 1);
  try {
    joiner.join(probe, build, kInnerJoin, rows);
    FAIL() << "must throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_space);
  }
}

TEST(HashJoiner, tells_of_any_operation_that_fails) {
  const RecordFormat format = format_of("kv64");
  const KeyLayout layout(format);
  const Bytes probe = make_records(format, {60000, 4000}, 1);
  const Bytes build = make_records(format, {20000, 15000}, 2);
  Bytes rows(1'000'000 * 24);
  for (const std::string failing :
       {"copy in", "clear", "select", "insert", "probe", "write rows", "copy out"}) {
    for (const int nth : {1, 2}) {
      std::atomic<int> calls = 0;
      SimulatedOptions simulated;
      simulated.before = [&](const char* operation) {
        if (operation == failing && ++calls >= nth) {
          throw Error(ErrorCode::device, "it fails: " + failing);
        }
      };
      HashDevices gpus(3, simulated);
      HashJoiner joiner(gpus.all, layout, layout, 20000,
                        {.memory_bytes = 920 * kKiB, .batch_records = 4096, .threads = 2});
      try {
        joiner.join(probe, build, kInnerJoin, rows);
        FAIL() << failing;
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("it fails"), std::string::npos);
      }
    }
  }
}

}  // namespace
}  // namespace xxl::gpu
