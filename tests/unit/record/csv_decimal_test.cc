// Exact sums of decimal numbers.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "record/decimal.h"

namespace xxl {
namespace {

std::string sum_of(std::initializer_list<std::string_view> numbers) {
  DecimalSum sum;
  for (const std::string_view number : numbers) EXPECT_TRUE(sum.add(*parse_decimal(number)));
  return sum.text();
}

TEST(DecimalSum, IsExact) {
  EXPECT_EQ(sum_of({}), "0");
  EXPECT_EQ(sum_of({"0.1", "0.2"}), "0.3");
  EXPECT_EQ(sum_of({"1", "-1"}), "0");
  EXPECT_EQ(sum_of({"-1.5", "1"}), "-0.5");
  EXPECT_EQ(sum_of({"99999999999999999999", "1"}), "100000000000000000000");
  EXPECT_EQ(sum_of({"1e30", "-1", "1e-30"}),
            "999999999999999999999999999999.000000000000000000000000000001");
  EXPECT_EQ(sum_of({"1e18", "-1e18", "1e-18"}), "0.000000000000000001");
}

TEST(DecimalSum, IsExactBeyond128Bits) {
  DecimalSum sum;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(sum.add(*parse_decimal("-999999999999999999")));
  EXPECT_TRUE(sum.add(*parse_decimal("0.000000000000000001")));
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(sum.add(*parse_decimal("-999999999999999999")));
  EXPECT_EQ(sum.text(), "-1999999999999999997999.999999999999999999");
}

TEST(DecimalSum, KeepsTheDecimalsOfTheNumbers) {
  EXPECT_EQ(sum_of({"1.50", "2.5"}), "4.00");
  EXPECT_EQ(sum_of({"1.25", "-1.25"}), "0.00");
  EXPECT_EQ(sum_of({"1.5e1", "1e2"}), "115");
  EXPECT_EQ(sum_of({"1.5e-2"}), "0.015");
  EXPECT_EQ(sum_of({"0.000", "7"}), "7.000");
  EXPECT_EQ(sum_of({"-0"}), "0");
  EXPECT_EQ(sum_of({"123456789012345678901234567890.10", "-0.1"}),
            "123456789012345678901234567890.00");
}

TEST(DecimalSum, HasBounds) {
  DecimalSum sum;
  EXPECT_TRUE(sum.add(*parse_decimal("1e9999")));
  EXPECT_TRUE(sum.add(*parse_decimal("1e-10000")));
  EXPECT_FALSE(sum.add(*parse_decimal("1e10000")));
  EXPECT_FALSE(sum.add(*parse_decimal("1e-10001")));
  EXPECT_EQ(sum.text(), "1" + std::string(9999, '0') + "." + std::string(9999, '0') + "1");
}

TEST(DecimalSum, DoesNotDependOnOrderOrGrouping) {
  Random random(8);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::string> numbers;
    for (std::size_t n = 1 + random.below(20); n > 0; --n) {
      std::string text(random.below(2), '-');
      for (std::size_t d = 1 + random.below(random.below(4) == 0 ? 40 : 5); d > 0; --d) {
        text += static_cast<char>('0' + random.below(10));
      }
      if (random.below(2) == 0) text.insert(1 + random.below(text.size()), 1, '.');
      if (random.below(4) == 0) {
        text.append(1, 'e').append(std::to_string(static_cast<int>(random.below(40)) - 20));
      }
      if (text == "-." || text.starts_with("-.e")) continue;
      numbers.push_back(text);
    }
    DecimalSum all, negated;
    for (const std::string& number : numbers) {
      ASSERT_TRUE(all.add(*parse_decimal(number))) << number;
      Decimal minus = *parse_decimal(number);
      minus.negative = !minus.negative;
      ASSERT_TRUE(negated.add(minus));
    }
    // In another order, in two groups that are summed as text.
    std::shuffle(numbers.begin(), numbers.end(), random);
    DecimalSum parts[2], grouped;
    for (const std::string& number : numbers) {
      ASSERT_TRUE(parts[random.below(2)].add(*parse_decimal(number)));
    }
    for (const DecimalSum& part : parts) ASSERT_TRUE(grouped.add(*parse_decimal(part.text())));
    ASSERT_EQ(grouped.text(), all.text());
    // A sum and its opposite add up to zero.
    ASSERT_TRUE(grouped.add(*parse_decimal(negated.text())));
    ASSERT_TRUE(parse_decimal(grouped.text())->is_zero()) << grouped.text();
  }
}

TEST(DecimalSum, OfIntegersAgreesWithWideIntegers) {
  Random random(9);
  for (int i = 0; i < 200; ++i) {
    DecimalSum sum;
    __int128 expected = 0;
    for (int n = 0; n < 300; ++n) {
      const auto value =
          static_cast<std::int64_t>(random() >> random.below(64)) * (random.below(2) == 0 ? -1 : 1);
      expected += value;
      ASSERT_TRUE(sum.add(*parse_decimal(std::to_string(value))));
    }
    std::string text;
    for (__int128 left = expected < 0 ? -expected : expected; left != 0; left /= 10) {
      text.insert(text.begin(), static_cast<char>('0' + static_cast<int>(left % 10)));
    }
    if (text.empty()) text.push_back('0');
    ASSERT_EQ(sum.text(), std::string(expected < 0 ? 1 : 0, '-') + text);
  }
}

std::string mean_of(std::initializer_list<std::string_view> numbers) {
  DecimalSum sum;
  for (const std::string_view number : numbers) EXPECT_TRUE(sum.add(*parse_decimal(number)));
  return sum.mean(numbers.size());
}

TEST(DecimalSum, DividedIsRoundedOnce) {
  EXPECT_EQ(mean_of({"1", "2"}), "1.5");
  EXPECT_EQ(mean_of({"1", "3"}), "2");
  EXPECT_EQ(mean_of({"1.50", "2.5"}), "2.00");
  EXPECT_EQ(mean_of({"1", "1", "0"}), "0.666667");
  EXPECT_EQ(mean_of({"-1", "-1", "0"}), "-0.666667");
  EXPECT_EQ(mean_of({"0.000001", "0"}), "0.0000005");
  EXPECT_EQ(mean_of({"7"}), "7");
  EXPECT_EQ(mean_of({"0.00", "0"}), "0.00");
  EXPECT_EQ(mean_of({"1000", "0"}), "500");
  EXPECT_EQ(mean_of({"1e30", "1"}), "500000000000000000000000000000.5");
}

TEST(DecimalSum, DividedMeetsTiesToEvenAndCarries) {
  DecimalSum sum;
  ASSERT_TRUE(sum.add(*parse_decimal("1")));
  EXPECT_EQ(sum.mean(2000000), "0") << "0.0000005";
  EXPECT_EQ(sum.mean(~std::uint64_t{0}), "0");
  ASSERT_TRUE(sum.add(*parse_decimal("2")));
  EXPECT_EQ(sum.mean(2000000), "0.000002") << "0.0000015";
  sum = {};
  ASSERT_TRUE(sum.add(*parse_decimal("-1")));
  EXPECT_EQ(sum.mean(2000001), "0") << "no minus";
  ASSERT_TRUE(sum.add(*parse_decimal("20000000")));
  EXPECT_EQ(sum.mean(2000000), "10") << "9.9999995";
  EXPECT_EQ(sum.mean(20000000), "1") << "0.99999995";
}

}  // namespace
}  // namespace xxl
