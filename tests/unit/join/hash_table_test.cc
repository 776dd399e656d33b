// The table of a hash join, against a search of all records.
#include "join/hash_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/memory_region.h"
#include "join/hash_partitions.h"
#include "sort_test_support.h"

namespace xxl {
namespace {

using test::Bytes;
using test::format_of;
using Pair = std::pair<std::uint32_t, std::string>;  // number of what probes, record of the table

// Slabs of 8 records.
constexpr unsigned kShift = 3;

class Table {
 public:
  Table(const RecordFormat& build, const RecordFormat& probe, const Bytes& records,
        std::size_t partitions)
      : build_(build),
        probe_(probe),
        count_(records.size() / build.record_bytes),
        slab_bytes_(std::size_t{build.record_bytes} << kShift),
        slabs_((count_ >> kShift) + 1 + partitions),
        slab_memory_(SlabPool::memory_bytes(slabs_.size(), slab_bytes_)),
        size_{count_, slabs_.size() << kShift, partitions},
        memory_(HashTable::memory_bytes(size_)),
        table_(build_, probe_, {slabs_.data(), kShift}, size_, memory_.span()) {
    SlabPool pool(slab_memory_.span(), slab_bytes_);
    HashPartitions divided(table_, build_, pool);
    MemoryRegion memory(ScatterScratch::bytes(count_, partitions) + 64);
    const auto scratch = ScatterScratch::carve(memory.span(), count_, partitions);
    divided.distribute(Ticket{0}, {records.data(), count_}, scratch);
    numbers_ = divided.number(slabs_);
    std::vector<std::jthread> running;
    for (std::size_t i = 0; i < partitions; ++i) {
      running.emplace_back([this, i] { table_.build(i, numbers_[i]); });
    }
  }

  // All matches of `records`, listed `capacity` at a time, in order of what probes.
  std::vector<Pair> probe(const Bytes& records, const ProbeWants& wants, std::size_t capacity,
                          std::uint64_t* matched = nullptr) {
    const std::size_t count = records.size() / probe_.record_bytes();
    std::vector<Pair> pairs;
    std::vector<HashMatch> out(capacity);
    ProbeProgress progress;
    while (progress.records < count) {
      const std::size_t listed = table_.probe(records.data(), count, wants, progress, out);
      for (std::size_t i = 0; i < listed; ++i) {
        EXPECT_TRUE(pairs.empty() || pairs.back().first <= out[i].probe);
        pairs.emplace_back(out[i].probe, text(out[i].build));
      }
    }
    if (matched != nullptr) *matched = progress.matched;
    std::sort(pairs.begin(), pairs.end());
    return pairs;
  }

  std::uint64_t matched() const {
    std::uint64_t matched = 0;
    for (const RecordNumbers& numbers : numbers_) matched += table_.matched(numbers);
    return matched;
  }
  std::vector<std::string> select(bool matched, std::size_t capacity) const {
    std::vector<std::string> selected;
    std::vector<HashMatch> out(capacity);
    for (const auto& [first, count] : numbers_) {
      for (std::size_t record = first; record < first + count;) {
        const std::size_t listed = table_.select(matched, record, first + count, out);
        for (std::size_t i = 0; i < listed; ++i) selected.push_back(text(out[i].build));
      }
    }
    std::sort(selected.begin(), selected.end());
    return selected;
  }

 private:
  std::string text(std::uint32_t number) const {
    if (number == HashMatch::kNone) return {};
    return {reinterpret_cast<const char*>(table_.record(number)), build_.record_bytes()};
  }

  KeyLayout build_, probe_;
  std::size_t count_, slab_bytes_;
  std::vector<std::byte*> slabs_;
  MemoryRegion slab_memory_;
  HashTable::Size size_;
  MemoryRegion memory_;
  HashTable table_;
  std::vector<RecordNumbers> numbers_;
};

struct Case {
  std::string name;
  RecordFormat build, probe;
};

std::vector<Case> all_cases() {
  return {
      {"u32", format_of("u32"), format_of("u32")},
      {"kv32_i32", format_of("kv32"), format_of("u32")},
      {"kv64", format_of("kv64"), format_of("kv64")},
      {"f64_desc", format_of("f64", {"0:f64:desc"}), format_of("fixed:16", {"0:f64:desc"})},
      {"other_byte_order", format_of("kv64"), format_of("fixed:19", {"11:u64be"})},
      {"gensort", format_of("gensort"), format_of("fixed:23", {"5:bytes10"})},
      {"fields", format_of("fixed:40", {"3:u16be", "30:bytes5", "20:i32:desc"}),
       format_of("fixed:17", {"12:u16", "0:bytes5", "6:i32be:desc"})},
  };
}

// Writes the key of number `number` into `record`, which is of one of two compatible formats.
void set_key(const RecordFormat& format, std::uint64_t number, std::byte* record) {
  Random random(number);
  for (const KeyField& field : format.key) {
    std::uint64_t bits = random();
    for (std::size_t i = 0; i < field.length; ++i, bits = bits >> 8 | bits << 56) {
      const bool reversed = field.big_endian || field.type == KeyType::bytes;
      record[field.offset + (reversed ? field.length - 1 - i : i)] = static_cast<std::byte>(bits);
    }
  }
}

Bytes records_of(const RecordFormat& format, const std::vector<std::uint64_t>& keys,
                 Random& random) {
  Bytes records = test::random_records(format, keys.size(), random);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    set_key(format, keys[i], records.data() + i * format.record_bytes);
  }
  return records;
}

std::vector<std::uint64_t> random_keys(std::size_t count, std::uint64_t distinct, Random& random) {
  std::vector<std::uint64_t> keys(count);
  for (std::uint64_t& key : keys) key = random.below(distinct);
  return keys;
}

std::string record_of(const RecordFormat& format, const Bytes& records, std::size_t index) {
  return {reinterpret_cast<const char*>(records.data()) + index * format.record_bytes,
          format.record_bytes};
}

// `records`: of the table, with keys `build`.
std::vector<Pair> expected_pairs(const RecordFormat& format, const Bytes& records,
                                 const std::vector<std::uint64_t>& build,
                                 const std::vector<std::uint64_t>& probe, const ProbeWants& wants) {
  std::vector<Pair> pairs;
  for (std::uint32_t p = 0; p < probe.size(); ++p) {
    bool found = false;
    for (std::size_t b = 0; b < build.size(); ++b) {
      if (build[b] != probe[p]) continue;
      found = true;
      if (wants.pairs) pairs.emplace_back(p, record_of(format, records, b));
    }
    if (found ? wants.matched : wants.unmatched) pairs.emplace_back(p, "");
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

void expect_right(const Case& test, const std::vector<std::uint64_t>& build,
                  const std::vector<std::uint64_t>& probe, std::uint64_t seed) {
  SCOPED_TRACE(test.name + ", " + std::to_string(build.size()) + " records");
  Random random(seed);
  const Bytes in_table = records_of(test.build, build, random);
  const Bytes probing = records_of(test.probe, probe, random);
  for (const ProbeWants wants : {ProbeWants{true, false, false}, ProbeWants{true, true, false},
                                 ProbeWants{false, true, false}, ProbeWants{false, false, true},
                                 ProbeWants{false, false, false}}) {
    for (const std::size_t capacity : {1u, 7u, 5000u}) {
      Table table(test.build, test.probe, in_table, 1 + capacity % 4);
      std::uint64_t matched = 0;
      ASSERT_EQ(table.probe(probing, wants, capacity, &matched),
                expected_pairs(test.build, in_table, build, probe, wants));
      EXPECT_EQ(matched, std::count_if(probe.begin(), probe.end(), [&](std::uint64_t key) {
                  return std::count(build.begin(), build.end(), key) > 0;
                }));
      std::vector<std::string> with, without;
      for (std::size_t b = 0; b < build.size(); ++b) {
        (std::count(probe.begin(), probe.end(), build[b]) > 0 ? with : without)
            .push_back(record_of(test.build, in_table, b));
      }
      std::sort(with.begin(), with.end());
      std::sort(without.begin(), without.end());
      EXPECT_EQ(table.matched(), with.size());
      EXPECT_EQ(table.select(true, capacity), with);
      EXPECT_EQ(table.select(false, capacity), without);
    }
  }
}

TEST(HashTable, finds_all_partners) {
  Random random(310);
  std::uint64_t seed = 311;
  for (const Case& test : all_cases()) {
    for (const std::size_t count : {0u, 1u, 2u, 63u, 500u, 2500u}) {
      expect_right(test, random_keys(count, 2 * count + 1, random),
                   random_keys(300, 2 * count + 1, random), ++seed);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(HashTable, does_not_mind_any_number_of_equal_keys) {
  Random random(312);
  std::uint64_t seed = 313;
  for (const Case& test : all_cases()) {
    expect_right(test, random_keys(3000, 1, random), random_keys(5, 2, random), ++seed);
    expect_right(test, random_keys(3000, 7, random), random_keys(20, 9, random), ++seed);
    // One key has most records, others few.
    std::vector<std::uint64_t> keys = random_keys(1000, 1000, random);
    for (std::size_t i = 0; i < keys.size(); i += 1 + random.below(2)) keys[i] = 5;
    expect_right(test, keys, random_keys(70, 1000, random), ++seed);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(HashTable, nothing_that_probes_finds_nothing) {
  for (const Case& test : all_cases()) {
    Random random(314);
    expect_right(test, random_keys(100, 100, random), {}, 315);
  }
}

TEST(HashTable, keys_that_agree_in_all_but_one_word_are_not_equal) {
  for (const std::size_t differing : {0u, 1u, 2u}) {
    const RecordFormat format = format_of("fixed:24");
    const std::size_t count = 2000;
    Bytes records(count * 24, std::byte{'x'});
    for (std::uint32_t i = 0; i < count; ++i) std::memcpy(&records[i * 24 + differing * 8], &i, 4);
    Table table(format, format, records, 2);
    const std::vector<Pair> pairs = table.probe(records, {.pairs = true}, 100);
    ASSERT_EQ(pairs.size(), count);
    for (std::uint32_t i = 0; i < count; ++i) {
      EXPECT_EQ(pairs[i], Pair(i, record_of(format, records, i)));
    }
  }
}

TEST(HashTable, many_threads_may_probe_at_once) {
  const RecordFormat format = format_of("kv64");
  Random random(316);
  const std::vector<std::uint64_t> build = random_keys(2000, 1500, random);
  const std::vector<std::uint64_t> probe = random_keys(2000, 2000, random);
  const Bytes in_table = records_of(format, build, random);
  const Bytes probing = records_of(format, probe, random);
  Table table(format, format, in_table, 3);
  const std::vector<Pair> expected =
      expected_pairs(format, in_table, build, probe, {.pairs = true});
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] { EXPECT_EQ(table.probe(probing, {.pairs = true}, 100), expected); });
  }
}

TEST(HashTable, finds_keys_that_differ_in_few_bits) {
  for (const std::uint64_t factor :
       {std::uint64_t{1}, std::uint64_t{1} << 20, std::uint64_t{1} << 44, std::uint64_t{0x10001}}) {
    const RecordFormat format = format_of("u64");
    std::vector<std::uint64_t> keys(1 << 17);
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i * factor;
    Bytes records(keys.size() * 8);
    std::memcpy(records.data(), keys.data(), records.size());
    Table table(format, format, records, 2);
    const std::vector<Pair> pairs = table.probe(records, {.pairs = true}, 1000);
    ASSERT_EQ(pairs.size(), keys.size());
  }
}

}  // namespace
}  // namespace xxl
