// Sums and counts of records with equal keys: exact, or refused.
#include "record/record_fold.h"

#include <gtest/gtest.h>

#include <bit>
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

TEST(ExactSum, of_several_nans_is_the_same_in_any_order) {
  const double one = std::bit_cast<double>(0x7ff8000000000001);
  const double other = std::bit_cast<double>(0xfff8000000000002);
  ExactSum sum, turned;
  sum.add(one);
  sum.add(other);
  turned.add(other);
  turned.add(one);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(sum.to_double()),
            std::bit_cast<std::uint64_t>(turned.to_double()));
  EXPECT_EQ(std::bit_cast<std::uint32_t>(sum.to_float(2)),
            std::bit_cast<std::uint32_t>(turned.to_float(2)));
}

using Record = std::vector<std::byte>;

// A u8 as key, and an i8.
Record record(int key, int value) {
  return {static_cast<std::byte>(key), static_cast<std::byte>(value)};
}

FoldRules rules_of(const char* field, bool is_whole, FoldKind kind = FoldKind::sum) {
  FoldRules rules;
  rules.format = parse_record_format("fixed:2");
  rules.format.key = {parse_key_field("0:u8", rules.format)};
  rules.fold.fields = {parse_field_fold(kind, field, rules.format, {})};
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

TEST(ExactSum, divided_is_rounded_once) {
  ExactSum sum;
  for (const double value : {1e308, 1e308, 1.0, -1e308, -1e308}) sum.add(value);
  EXPECT_EQ(sum.to_double(3), 1.0 / 3);
  EXPECT_EQ(sum.to_float(3), 1.0F / 3);
  ExactSum large, tiny;
  for (int i = 0; i < 3; ++i) large.add(-std::numeric_limits<double>::max());
  EXPECT_EQ(large.to_double(3), -std::numeric_limits<double>::max());
  tiny.add(0x1p-1074);
  EXPECT_EQ(tiny.to_double(2), 0.0) << "ties to even";
  tiny.add(0x1p-1074);
  EXPECT_EQ(tiny.to_double(3), 0x1p-1074) << "2/3 of the least number";
  tiny.add(0x1p-1074);
  EXPECT_EQ(tiny.to_double(2), 0x1p-1073) << "3/2 of it, ties to even";
  EXPECT_EQ(tiny.to_double(~std::uint64_t{0}), 0.0);
  ExactSum tie;
  tie.add(0x1p53);
  tie.add(0x1p53);
  tie.add(2.0);
  EXPECT_EQ(tie.to_double(2), 0x1p53) << "2^53 + 1";
  tie.add(0x1p-1000);
  EXPECT_EQ(tie.to_double(2), 0x1p53 + 2) << "a little more";
}

// All records of a group: one after the other, or in two parts.
Record folded(const FoldRules& rules, std::vector<Record> records, bool in_parts) {
  RecordGroup group(rules), rest(rules);
  for (const Record& one : records) {
    RecordGroup& part = in_parts && !group.empty() ? rest : group;
    if (part.empty()) {
      part.begin(one.data());
    } else {
      EXPECT_TRUE(part.add(one.data()));
    }
  }
  if (in_parts) {
    EXPECT_TRUE(group.add(rest));
  }
  Record out(rules.bytes_out());
  group.write(out.data());
  return out;
}

TEST(RecordGroup, keeps_one_of_the_values) {
  for (const bool is_whole : {false, true}) {
    for (const bool in_parts : {false, true}) {
      const auto value = [&](FoldKind kind, const char* field) {
        const std::vector<Record> records = {record(7, 3), record(7, -1), record(7, 9),
                                             record(7, 4)};
        return folded(rules_of(field, is_whole, kind), records, in_parts);
      };
      EXPECT_EQ(value(FoldKind::min, "1:i8"), record(7, -1));
      EXPECT_EQ(value(FoldKind::min, "1:u8"), record(7, 3));
      EXPECT_EQ(value(FoldKind::max, "1:i8"), record(7, 9));
      EXPECT_EQ(value(FoldKind::max, "1:bytes1"), record(7, -1));
      EXPECT_EQ(value(FoldKind::first, "1:u8"), record(7, 3));
      EXPECT_EQ(value(FoldKind::last, "1:u8"), record(7, 4));
    }
  }
}

TEST(RecordGroup, has_means_of_integers_rounded_to_even) {
  const FoldRules rules = rules_of("1:i8", true, FoldKind::mean);
  const auto mean = [&](std::initializer_list<int> values) {
    std::vector<Record> records;
    for (const int value : values) records.push_back(record(7, value));
    const Record whole = folded(rules, records, false);
    if (values.size() > 1) {
      EXPECT_EQ(folded(rules, records, true), whole);
    }
    return static_cast<int>(static_cast<std::int8_t>(whole[1]));
  };
  EXPECT_EQ(mean({-3}), -3);
  EXPECT_EQ(mean({2, 3}), 2);
  EXPECT_EQ(mean({3, 4}), 4);
  EXPECT_EQ(mean({-2, -3}), -2);
  EXPECT_EQ(mean({-3, -4}), -4);
  EXPECT_EQ(mean({-1, -1, 0}), -1);
  EXPECT_EQ(mean({-1, 0, 0}), 0);
  EXPECT_EQ(mean({127, 127, 127}), 127);
}

TEST(RecordGroup, of_a_part_leaves_means_apart) {
  const FoldRules rules = rules_of("1:i8", false, FoldKind::mean);
  RecordGroup group(rules);
  group.begin(record(7, 1).data());
  EXPECT_FALSE(group.add(record(7, 1).data()));
}

TEST(RecordFold, refuses_fields_that_cannot_be_folded) {
  RecordFormat format = parse_record_format("kv64");
  RecordFold fold;
  const auto parse = [&](FoldKind kind, const char* field) {
    return parse_field_fold(kind, field, format, fold);
  };
  EXPECT_THROW(parse(FoldKind::sum, "0:u8"), Error) << "of the key";
  EXPECT_THROW(parse(FoldKind::sum, "8:bytes8"), Error);
  EXPECT_THROW(parse(FoldKind::mean, "8:bytes8"), Error);
  EXPECT_THROW(parse(FoldKind::collect, "8:u64"), Error);
  EXPECT_NO_THROW(parse(FoldKind::max, "8:bytes8"));
  EXPECT_THROW(parse(FoldKind::sum, "9:u64"), Error) << "out of the record";
  fold.fields.push_back(parse(FoldKind::sum, "8:u32be"));
  EXPECT_THROW(parse(FoldKind::max, "11:u8"), Error) << "of another fold";
  EXPECT_NO_THROW(parse(FoldKind::last, "12:f32"));
}

}  // namespace
}  // namespace xxl
