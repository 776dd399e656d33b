// Arrays sorted on all processors, compared with std::stable_sort.
#include "sort/cpu_array_sorter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "record/record_format.h"
#include "sort_test_support.h"

namespace xxl {
namespace {

using test::Bytes;
using test::sorted_records;

// Random bytes; of `keys` different values in front, if that is not 0, of which the first is half
// of all.
Bytes make_records(std::size_t count, std::size_t record_bytes, std::uint64_t keys) {
  std::mt19937_64 random(count + keys);
  Bytes records(count * record_bytes);
  for (std::byte& byte : records) byte = static_cast<std::byte>(random());
  for (std::size_t i = 0; keys != 0 && i < count; ++i) {
    const std::uint64_t value = random() % 2 * (random() % keys) * 0x1234567;
    std::memset(records.data() + i * record_bytes, 0, std::min<std::size_t>(record_bytes - 1, 20));
    std::memcpy(records.data() + i * record_bytes, &value, std::min<std::size_t>(record_bytes, 8));
  }
  return records;
}

void expect_sorted(const std::string& record, const std::vector<std::string>& keys) {
  const RecordFormat format = parse_record_format(record, keys, false, "");
  const KeyLayout layout(format);
  CpuArraySorter sorter(layout, 3);
  for (const std::size_t count : {0, 1, 2, 100, 200000, 70001}) {
    for (const std::uint64_t different : {0, 1, 2, 100, 50000}) {
      const Bytes records = make_records(count, layout.record_bytes(), different);
      const Bytes expected = sorted_records(format, records);
      Bytes apart(records.size()), in_place = records;
      sorter.sort(records, apart);
      EXPECT_TRUE(apart == expected) << record << ", " << count << " records, " << different;
      sorter.sort(in_place, in_place);
      EXPECT_TRUE(in_place == expected) << record << ", " << count << " records, " << different;
    }
  }
}

TEST(CpuArraySorter, sorts_numbers_stably) {
  for (const char* record : {"u32", "i64", "f64", "f32", "kv32", "kv64"}) expect_sorted(record, {});
}

// The last ones are more than their keys, so that equal ones cannot be counted.
TEST(CpuArraySorter, counts_numbers_of_one_or_two_bytes) {
  for (const char* key : {"0:u16", "0:i16", "0:u16be:desc", "0:bytes2"}) {
    expect_sorted("fixed:2", {key});
  }
  for (const char* key : {"0:u8", "0:i8:desc"}) expect_sorted("fixed:1", {key});
  for (const char* key : {"0:u8", "1:i8"}) expect_sorted("fixed:2", {key});
}

TEST(CpuArraySorter, sorts_any_records_by_any_fields_stably) {
  expect_sorted("fixed:13", {"3:bytes9"});
  expect_sorted("fixed:24", {"0:u32:desc", "4:i16", "16:f64"});
  expect_sorted("fixed:40", {"8:bytes20:desc", "0:u16be"});
}

TEST(CpuArraySorter, sorts_by_keys_that_differ_only_behind_what_splitters_hold) {
  const RecordFormat format = parse_record_format("fixed:300");
  const KeyLayout layout(format);
  Bytes records(20000 * 300);
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < 20000; ++i) {
    const std::uint64_t value = random() % 5000;
    std::memcpy(records.data() + i * 300 + 290, &value, 8);
  }
  const Bytes expected = sorted_records(format, records);
  CpuArraySorter sorter(layout, 2);
  sorter.sort(records, records);
  EXPECT_TRUE(records == expected);
}

}  // namespace
}  // namespace xxl
