#include "run/output_parts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/units.h"

namespace xxl {
namespace {

// Puts records of 100 bytes where they fit.
std::uint64_t put(OutputParts& parts, std::uint64_t records) {
  std::uint64_t cuts = 0;
  while (records > 0) {
    const std::uint64_t room = std::min(parts.room(100), records);
    if (room == 0) {
      parts.cut();
      ++cuts;
      continue;
    }
    parts.note(parts.present(), parts.end(), {room, 100, 100});
    parts.add(room * 100);
    records -= room;
  }
  return cuts;
}

TEST(OutputParts, a_number_of_parts_divides_what_is_expected_evenly) {
  OutputParts parts({.parts = 3}, kSectorBytes);
  parts.expect(1000 * 100);
  EXPECT_EQ(put(parts, 1000), 2u);
  const auto all = parts.parts();
  ASSERT_EQ(all.size(), 3u);
  std::uint64_t records = 0;
  for (const OutputPart& part : all) {
    EXPECT_EQ(part.start % kSectorBytes, 0u);
    EXPECT_EQ(part.bytes, part.records * 100);
    EXPECT_NEAR(static_cast<double>(part.records), 1000.0 / 3, 1);
    records += part.records;
  }
  EXPECT_EQ(records, 1000u);
}

TEST(OutputParts, parts_of_a_size_hold_whole_records_and_at_least_one) {
  OutputParts parts({.part_bytes = 250}, 1);
  EXPECT_EQ(put(parts, 5), 2u);
  EXPECT_EQ(parts.parts()[0].bytes, 200u);
  OutputParts small({.part_bytes = 99}, 1);
  EXPECT_EQ(put(small, 4), 3u);
}

TEST(OutputParts, never_cuts_more_often_than_was_announced) {
  for (const std::uint64_t bytes : {99u, 100u, 250u, 1000u, 4096u, 50000u}) {
    OutputParts parts({.part_bytes = bytes}, kSectorBytes);
    for (std::uint64_t records = 1; records < 60; ++records) {
      const std::uint64_t most = parts.most_cuts(records * 100, 100);
      EXPECT_LE(put(parts, records), most) << bytes << " " << records;
    }
  }
  for (const std::uint64_t number : {1u, 2u, 7u, 100u}) {
    OutputParts parts({.parts = number}, kSectorBytes);
    parts.expect(1770 * 100);
    for (std::uint64_t records = 1; records < 60; ++records) {
      const std::uint64_t most = parts.most_cuts(records * 100, 100);
      EXPECT_LE(put(parts, records), most) << number << " " << records;
    }
  }
}

TEST(OutputParts, cut_beforehand_they_are_as_they_become_on_the_way) {
  for (const std::uint64_t size : {99u, 5000u, 100000u}) {
    OutputParts now({.part_bytes = size}, kSectorBytes);
    put(now, 120);
    OutputParts before({.part_bytes = size}, kSectorBytes);
    const auto places = before.cut_all(120, 100, 16 * kKiB);
    const auto parts = before.parts(), expected = now.parts();
    ASSERT_EQ(parts.size(), expected.size());
    ASSERT_EQ(places.size(), expected.size());
    std::uint64_t records = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      EXPECT_EQ(parts[i].records, expected[i].records);
      EXPECT_EQ(parts[i].bytes, expected[i].bytes);
      EXPECT_EQ(parts[i].start % (16 * kKiB), 0u);
      EXPECT_EQ(places[i].start, parts[i].start);
      EXPECT_EQ(places[i].first_record, records);
      EXPECT_EQ(places[i].records, parts[i].records);
      records += parts[i].records;
    }
  }
}

TEST(OutputParts, stretches_of_the_stream_lie_in_one_part_each) {
  OutputParts parts({.part_bytes = 5000}, kSectorBytes);
  put(parts, 120);  // parts of 5000, 5000 and 2000 bytes, at 0, 8192 and 16384
  const auto stretches = parts.stretches(4096, 20480);
  ASSERT_EQ(stretches.size(), 3u);
  EXPECT_EQ(stretches[0].part, 0u);
  EXPECT_EQ(stretches[0].offset, 4096u);
  EXPECT_EQ(stretches[0].bytes, 4096u);
  EXPECT_EQ(stretches[1].part, 1u);
  EXPECT_EQ(stretches[1].offset, 0u);
  EXPECT_EQ(stretches[1].bytes, 8192u);
  EXPECT_EQ(stretches[2].part, 2u);
  EXPECT_EQ(stretches[2].bytes, 4096u);
}

TEST(OutputParts, empty_parts_have_no_stretches) {
  OutputParts parts({.parts = 4}, 1);
  parts.cut();
  parts.cut();
  parts.add(10);
  parts.cut();
  const auto stretches = parts.stretches(0, 10);
  ASSERT_EQ(stretches.size(), 1u);
  EXPECT_EQ(stretches[0].part, 2u);
  EXPECT_FALSE(parts.lacks_parts());
}

TEST(OutputParts, first_and_last_records_are_those_at_the_ends_in_whatever_order_they_come) {
  OutputParts parts({.part_bytes = kGiB}, kSectorBytes);
  parts.note(0, 300, {2, 7, 8});
  parts.note(0, 0, {1, 5, 5});
  parts.note(0, 100, {9, 1, 2});
  const OutputPart part = parts.parts()[0];
  EXPECT_EQ(part.records, 12u);
  EXPECT_EQ(part.first_bytes, 5u);
  EXPECT_EQ(part.last_bytes, 8u);
}

}  // namespace
}  // namespace xxl
