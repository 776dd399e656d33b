// Sums and counts of records with equal keys: exact, or refused.
#include "record/record_fold.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/random.h"

namespace xxl {
namespace {

TEST(ExactSum, is_rounded_once) {
  ExactSum sum;
  for (const double value : {1e308, 1e308, 1.0, 0x1p-1074, -1e308, -1e308}) sum.add(value);
  EXPECT_EQ(sum.to_double(), 1.0);
  sum.add(0x1p-53);  // a tie but for the least of all numbers
  EXPECT_EQ(sum.to_double(), 1.0 + 0x1p-52);
  sum.add(-0x1p-1074);
  EXPECT_EQ(sum.to_double(), 1.0) << "ties to even";
  EXPECT_EQ(sum.to_float(), 1.0F);
}

TEST(ExactSum, of_single_numbers_is_the_number) {
  Random random(1);
  for (int i = 0; i < 10000; ++i) {
    const std::uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    float small;
    std::memcpy(&small, &bits, sizeof small);
    if (!std::isfinite(value) || !std::isfinite(small)) continue;
    ExactSum sum, float_sum;
    sum.add(value);
    float_sum.add(small);
    EXPECT_EQ(sum.to_double(), value);
    EXPECT_EQ(float_sum.to_float(), small);
    sum.add(float_sum);
    sum.add(-value);
    EXPECT_EQ(sum.to_float(), small);
  }
}

TEST(ExactSum, beyond_the_range_is_infinite) {
  ExactSum sum;
  sum.add(std::numeric_limits<double>::max());
  EXPECT_EQ(sum.to_float(), std::numeric_limits<float>::infinity());
  sum.add(std::numeric_limits<double>::max());
  EXPECT_EQ(sum.to_double(), std::numeric_limits<double>::infinity());
  EXPECT_FALSE(sum.is_special());
  sum.add(-std::numeric_limits<double>::infinity());
  EXPECT_TRUE(sum.is_special());
  EXPECT_EQ(sum.to_double(), -std::numeric_limits<double>::infinity());
  sum.add(std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(sum.to_double()));
}

using Record = std::vector<std::byte>;

// A u8 as key, and an i8.
Record record(int key, int value) {
  return {static_cast<std::byte>(key), static_cast<std::byte>(value)};
}

FoldRules rules_of(const char* field, bool is_whole) {
  FoldRules rules;
  rules.format = parse_record_format("fixed:2");
  rules.format.key = {parse_key_field("0:u8", rules.format)};
  rules.fold.sums = {parse_sum_field(field, rules.format, {})};
  rules.is_whole = is_whole;
  return rules;
}

TEST(RecordGroup, of_a_whole_may_exceed_the_field_on_the_way) {
  const FoldRules rules = rules_of("1:i8", true);
  RecordGroup group(rules), more(rules);
  group.begin(record(7, 100).data());
  EXPECT_TRUE(group.add(record(7, 100).data()));
  more.begin(record(7, -100).data());
  EXPECT_TRUE(more.add(record(7, -28).data()));
  Record out(2);
  EXPECT_THROW(group.write(out.data()), Error);
  EXPECT_TRUE(group.add(more));
  group.write(out.data());
  EXPECT_EQ(out, record(7, 72));
}

TEST(RecordGroup, of_a_part_takes_only_what_its_field_holds) {
  const FoldRules rules = rules_of("1:i8", false);
  RecordGroup group(rules), more(rules);
  group.begin(record(7, 100).data());
  EXPECT_FALSE(group.add(record(7, 28).data()));
  EXPECT_TRUE(group.add(record(7, 27).data()));
  more.begin(record(7, 1).data());
  EXPECT_FALSE(group.add(more));
  Record out(2);
  group.write(out.data());
  EXPECT_EQ(out, record(7, 127));
}

TEST(RecordGroup, says_which_key_and_field_overflow) {
  const FoldRules rules = rules_of("1:u8", true);
  RecordGroup group(rules);
  group.begin(record(7, 200).data());
  group.add(record(7, 56).data());
  Record out(2);
  try {
    group.write(out.data());
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "--sum: the sum of the fields at byte 1 over the records of key 7 does not fit in "
                 "1 byte");
  }
}

TEST(RecordFold, refuses_fields_that_cannot_be_summed) {
  RecordFormat format = parse_record_format("kv64");
  RecordFold fold;
  EXPECT_THROW(parse_sum_field("0:u8", format, fold), Error) << "of the key";
  EXPECT_THROW(parse_sum_field("8:bytes8", format, fold), Error);
  EXPECT_THROW(parse_sum_field("9:u64", format, fold), Error) << "out of the record";
  fold.sums.push_back(parse_sum_field("8:u32be", format, fold));
  EXPECT_THROW(parse_sum_field("11:u8", format, fold), Error) << "of another sum";
  EXPECT_NO_THROW(parse_sum_field("12:f32", format, fold));
}

}  // namespace
}  // namespace xxl
