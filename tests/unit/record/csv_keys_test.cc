// Keys of rows: their order is that of the values, and what is no value is told.
#include "record/csv_keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstdio>

#include "base/error.h"
#include "base/random.h"
#include "csv_order_test_support.h"
#include "csv_reference.h"

namespace xxl {
namespace {

std::string key_of(const CsvOrder& order, std::string_view row,
                   std::size_t limit = KeyExtractor::kWholeKey) {
  std::string key;
  CsvKeys(order).append_key(row, limit, key);
  return key;
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    char digits[4];
    std::snprintf(digits, sizeof digits, "%02x ", static_cast<unsigned char>(c));
    text += digits;
  }
  if (!text.empty()) text.pop_back();
  return text;
}

std::optional<std::string> fault_of(const CsvOrder& order, std::string_view row) {
  const CsvKeys keys(order);
  const std::optional<CsvFault> fault = keys.check(row);
  return fault ? std::optional(fault->what) : std::nullopt;
}

// Fails unless the rows are in ascending order, those of one group with equal keys.
void expect_order(const CsvOrder& order, const std::vector<std::vector<std::string>>& groups) {
  std::string last;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (std::size_t i = 0; i < groups[g].size(); ++i) {
      const std::string& row = groups[g][i];
      EXPECT_EQ(fault_of(order, row), std::nullopt) << row;
      const std::string key = key_of(order, row);
      if (i > 0) {
        EXPECT_EQ(hex(key), hex(last)) << row;
      } else if (g > 0) {
        EXPECT_LT(last, key) << groups[g - 1][0] << " | " << row;
      }
      last = key;
    }
  }
}

using Groups = std::vector<std::vector<std::string>>;

Groups reversed(Groups groups) {
  std::reverse(groups.begin(), groups.end());
  return groups;
}

TEST(CsvKeys, OfAllColumnsCompareFieldByField) {
  // By bytes the comma would come behind the blank and the quote; but it is no part of a field.
  expect_order(order_by({}), {{""},
                              {","},
                              {std::string("\0", 1)},
                              {"\x01"},
                              {"a", "\"a\"", "a\r"},
                              {"a,"},
                              {"a,b", "\"a\",\"b\""},
                              {"a b"},
                              {"\"a\"\"b\""},
                              {"\"a,b\""}});
}

TEST(CsvKeys, OfTextAreItsBytes) {
  EXPECT_EQ(key_of(order_by({"2"}), "a,\"b\"\"c\",d"), "b\"c");
  EXPECT_EQ(hex(key_of(order_by({"2", "1"}), std::string_view("x,a\0\x01z", 6))),
            "61 01 01 01 02 7a 00 78");
  EXPECT_EQ(hex(key_of(order_by({"1:desc"}), "ab")), "01 9e 9d ff");
  const Groups texts{{"a"}, {std::string("a\0", 2)}, {"a\x01"}, {"a\x02"}, {"aa"}, {"b"}, {"\xff"}};
  expect_order(order_by({"1"}), texts);
  expect_order(order_by({"1:desc"}), reversed(texts));
}

TEST(CsvKeys, EmptyFieldsAreFirstOrLastWhateverTheDirection) {
  for (const char* type : {"text", "number", "date"}) {
    const std::string low = type == std::string("date") ? "2001-01-01" : "1";
    const std::string high = type == std::string("date") ? "2002-01-01" : "2";
    for (const char* next : {"", "x"}) {
      const auto row = [&](const std::string& value) { return value + "," + next; };
      const std::string up = "1:" + std::string(type), down = up + ":desc";
      for (const char* second : {"2", "2:desc"}) {
        expect_order(order_by({up.c_str(), second}),
                     {{row(""), row("\"\"")}, {row(low)}, {row(high)}});
        expect_order(order_by({up.c_str(), second}, true), {{row(low)}, {row(high)}, {row("")}});
        expect_order(order_by({down.c_str(), second}), {{row("")}, {row(high)}, {row(low)}});
        expect_order(order_by({down.c_str(), second}, true), {{row(high)}, {row(low)}, {row("")}});
      }
    }
  }
}

TEST(CsvKeys, FieldsThatAreNotOfTheirTypeCountAsEmpty) {
  for (const bool last : {false, true}) {
    const CsvOrder order = order_by({"1:number:desc", "2:date"}, last);
    EXPECT_EQ(key_of(order, "NA,2024-01-01"), key_of(order, ",2024-01-01"));
    EXPECT_EQ(key_of(order, "1,soon"), key_of(order, "1,"));
    const CsvKeys keys(order);
    EXPECT_TRUE(keys.has_empty_part("NA,2024-01-01"));
    EXPECT_TRUE(keys.has_empty_part("1"));
    EXPECT_TRUE(keys.has_empty_part("1, "));
    EXPECT_FALSE(keys.has_empty_part("1,2024-01-01"));
  }
}

TEST(CsvKeys, RowsWithAnotherNumberOfFieldsAreTold) {
  const CsvKeys keys(order_by({"1:number"}));
  using Kind = CsvFault::Kind;
  const auto kind_of = [&](std::string_view row, std::size_t fields) {
    const auto fault = keys.check(row, fields);
    return fault ? std::optional(fault->kind) : std::nullopt;
  };
  EXPECT_EQ(kind_of("1,2", 2), std::nullopt);
  EXPECT_EQ(kind_of("1,\"2,3\"\r", 2), std::nullopt);
  EXPECT_EQ(kind_of("1", 2), Kind::fewer_fields);
  EXPECT_EQ(kind_of("1,2,", 2), Kind::more_fields);
  EXPECT_EQ(kind_of("1,2,", 0), std::nullopt);
  EXPECT_EQ(kind_of("x,2,", 2), Kind::value);
  EXPECT_EQ(kind_of("1,\"2", 2), Kind::syntax);
  EXPECT_EQ(keys.check("1", 2)->what, "the row has 1 field instead of 2");
}

TEST(CsvKeys, MalformedRowsThatDifferHaveKeysThatDiffer) {
  const CsvOrder order = order_by({});
  EXPECT_NE(key_of(order, "1,5\" nail"), key_of(order, "1,6\" nail"));
}

TEST(CsvFields, AreCounted) {
  const FieldSyntax comma{',', true};
  for (const std::size_t blanks : {0U, 1U, 15U, 16U, 100U, 5000U}) {
    const std::string field(blanks, ' ');
    EXPECT_EQ(count_plain_fields(field, comma), 1u);
    EXPECT_EQ(count_plain_fields(field + "," + field + ",\r", comma), 3u);
    EXPECT_EQ(count_plain_fields(std::string(blanks, ','), comma), blanks + 1);
    EXPECT_EQ(count_plain_fields(field + "\"" + field, comma), 0u);
    EXPECT_EQ(count_plain_fields(field + "\"," + field, {',', false}), 2u);
  }
}

TEST(CsvKeys, EachSaysWhereEmptyFieldsGo) {
  const auto order = order_by({"1:nulls-last", "2:n:desc:nulls-first"});
  expect_order(order, {{"a,"}, {"a,2"}, {"a,1"}, {",7"}});
  expect_order(order_by({"1:nulls-first", "2"}, true), {{",1"}, {"a,1"}, {"a,"}});
}

TEST(CsvKeys, NullsAreEmpty) {
  CsvOrder order = order_by({"1:n", "2"});
  order.nulls = {"NA", "\\N", "a\"b"};
  expect_order(order,
               {{",x", "NA,x", " NA ,x", "\"NA\",x", "\\N,x"}, {"-1,", "-1,NA"}, {"-1, NA"}});
  EXPECT_EQ(fault_of(order, "na,1"),
            "column 1: 'na' is not a number (--null=na treats it as empty)");
  expect_order(order, {{"1,", "1,\"a\"\"b\""}});
  EXPECT_TRUE(CsvKeys(order).has_empty_part("NA,x"));
  EXPECT_TRUE(CsvKeys(order).has_empty_part("1"));
  EXPECT_FALSE(CsvKeys(order).has_empty_part("1,x"));
  EXPECT_EQ(fault_of(order_by({"1:n"}), "\\N"),
            "column 1: '\\N' is not a number (--null='\\N' treats it as empty)");
  EXPECT_EQ(fault_of(order_by({"1:d"}), "31/12/2024"),
            "column 1: '31/12/2024' is not a date (ISO 8601) (other dates need a format, as in "
            "date:%d/%m/%Y)");
  EXPECT_EQ(fault_of(order_by({"1:n"}), "\"1.234,56\""),
            "column 1: '1.234,56' is not a number (it may need a format, as in number:1.234,56)");
}

TEST(CsvKeys, TextWithoutRegardToCase) {
  const auto order = order_by({"1:ci:desc", "2:ci"});
  expect_order(order, {{"b,x", "B,X"}, {"ab,\xc3\xa4", "AB,\xc3\x84"}, {"a,", "A,"}});
  // Latin, Greek, Cyrillic, as the pieces of a key are cut anywhere.
  const std::string upper = "\xc3\x96\xc5\xb8\xce\xa9\xd0\xaf\xd0\x81\xce\x86";
  const std::string lower = "\xc3\xb6\xc3\xbf\xcf\x89\xd1\x8f\xd1\x91\xce\xac";
  const auto ci = order_by({"1:ci"});
  const std::string whole = key_of(ci, upper);
  EXPECT_EQ(whole, key_of(ci, lower));
  for (std::size_t from = 0; from < whole.size(); ++from) {
    std::string part;
    CsvKeys(ci).append_key_part(upper, from, 1, part);
    EXPECT_EQ(part, whole.substr(from, 1));
  }
  expect_order(ci, {{"\"a\"\"B\""}, {"\xc3"}, {"\"\xc3\"\"\""}});
}

TEST(CsvKeys, NaturalTextHasNumbers) {
  for (const bool last : {true, false}) {
    const auto order = last ? order_by({"1:natural"}) : order_by({"1:natural", "2"});
    Groups groups = {{""},
                     {"0", "000"},
                     {"2", "02"},
                     {"10"},
                     {"file"},
                     {"file-1"},
                     {"file0"},
                     {"file2", "file02"},
                     {"file2a"},
                     {"file10"},
                     {"file" + std::string(300, '9')},
                     {"file1" + std::string(300, '0')},
                     {"filea"},
                     {"\"x\"\"2\""},
                     {"\"x\"\"10\""}};
    for (auto& group : groups) {
      for (std::string& row : group) row += ",";
    }
    expect_order(order, groups);
  }
  const auto down = order_by({"1:natural:desc"});
  expect_order(down, {{""}, {"a10"}, {"a9b"}, {"a9"}, {"a"}});
  const auto keys = order_by({"1:natural"});
  const std::string row = "a0012b" + std::string(260, '7') + "c", whole = key_of(keys, row);
  for (std::size_t from = 0; from < whole.size(); ++from) {
    std::string part;
    CsvKeys(keys).append_key_part(row, from, 3, part);
    EXPECT_EQ(part, whole.substr(from, 3));
  }
}

TEST(CsvKeys, VersionsCompareAsInSort) {
  expect_order(order_by({"1:version", "2"}),
               {{","}, {"1.2~rc1,"}, {"1.2,"}, {"1.9,"}, {"1.10,a"}, {"1.10,b"}, {"1.10.1,"}});
  expect_order(order_by({"1:version:desc"}, true), {{"1.10"}, {"1.9"}, {"\"1\"\"\""}, {""}});
}

TEST(CsvKeys, NumbersInAFormat) {
  const auto order = order_by({"1:number:\"1.234,56 EUR\":desc"});
  expect_order(order, {{""},
                       {"1.000.000"},
                       {"\"1234,50\"", "\"1.234,5 EUR\"", "\"1.234,50EUR\""},
                       {"7 EUR", "+7"},
                       {"\"0,10\"", "\",1\""},
                       {"-3", "-3 EUR",
                        "\xe2\x88\x92"
                        "3"}});
  for (const char* text : {"1.23", "12.3456", "1.2345", "1234.567", "1,5 USD", "EUR 5", "--5",
                           "5e3", "EUR", ".", "1.234,5.6"}) {
    const std::string row = '"' + std::string(text) + '"';
    EXPECT_EQ(fault_of(order, row),
              "column 1: '" + std::string(text) + "' is not a number like '1.234,56 EUR'");
  }
  expect_order(order_by({"1:n:$1,234.56"}), {{"-$5"}, {"$-4"}, {"3"}, {"\"$1,000.001\""}});
  expect_order(order_by({"1:n:1 234"}), {{"999"},
                                         {"1\xc2\xa0"
                                          "000",
                                          "1 000", "1000"},
                                         {"1000.5"}});
  expect_order(order_by({"1:i:1'234"}), {{"999"}, {"1'000"}});
  EXPECT_NE(fault_of(order_by({"1:i:1'234"}), "1.5"), std::nullopt);
  expect_order(order_by({"1:n:12 %"}), {{"2%", "2 %", "2"}, {"10 %"}});
}

TEST(CsvKeys, DatesInAFormat) {
  expect_order(order_by({"1:date:%d/%m/%Y"}),
               {{"29/02/2000", "29/2/2000"}, {"01/03/2000"}, {"1/1/2024"}});
  for (const char* text : {"29/02/2001", "31/04/2024", "2024-01-01", "1/1/24", "1/1/2024 x",
                           "0/1/2024", "1/13/2024"}) {
    EXPECT_EQ(fault_of(order_by({"1:date:%d/%m/%Y"}), text),
              "column 1: '" + std::string(text) + "' is not a date like '%d/%m/%Y'");
  }
  // The same moments as in ISO 8601.
  const auto same = [](const std::string& format, const std::string& text, const char* iso) {
    EXPECT_EQ(hex(key_of(order_by({("1:d:\"" + format + "\"").c_str()}), '"' + text + '"')),
              hex(key_of(order_by({"1:d"}), iso)))
        << text;
  };
  same("%d.%m.%y %H:%M", "05.07.68 09:30", "2068-07-05T09:30");
  same("%d.%m.%y", "05.07.69", "1969-07-05");
  same("%b %e %Y %I:%M:%S %p", "Mar  4 2021 12:00:07 am", "2021-03-04T00:00:07");
  same("%B %d %Y %I %p", "march 04 2021 12 PM", "2021-03-04T12:00");
  same("%Y%m%d%H%M%S", "20210304050607", "2021-03-04T05:06:07");
  same("%Y-%j", "2024-366", "2024-12-31");
  same("%FT%T.%f%z", "2024-01-02T03:04:05.5+0130", "2024-01-02T03:04:05.5+01:30");
  same("%a, %d %b %Y %T %z", "Tue, 02 Jan 2024 03:04:05 +0000", "2024-01-02T03:04:05Z");
  same("100%% %m/%Y", "100% 7/2024", "2024-07-01");
  EXPECT_NE(fault_of(order_by({"1:d:\"%a, %d %b %Y\""}), "\"Mon, 02 Jan 2024\""), std::nullopt);
  EXPECT_NE(fault_of(order_by({"1:d:%Y-%j"}), "2023-366"), std::nullopt);
}

TEST(CsvKeys, NumbersAreExact) {
  const Groups numbers{{"-1e999999999999999999"},
                       {"-123456789012345678901234567890.5"},
                       {"-123456789012345678901234567890"},
                       {"-1e3", "-1000", "-1000.00"},
                       {"-999.99"},
                       {"-1"},
                       {"-0.1", "-.1", "-1E-1", " -0.1\t"},
                       {"-1e-40"},
                       {"0", "-0", "+0.00", "0e77", "00"},
                       {"1e-999999999999999999"},
                       {"1e-40"},
                       {"0.0000000000000000000000000000000001"},
                       {"0.1", "1e-1", "+.10"},
                       {"0.1000000000000000055511151231257827"},
                       {"0.11"},
                       {"1", "1.", "01", "1e0", "1e+0", "10e-1", "\"1\""},
                       {"1.000000000000000000000000000000000000001"},
                       {"9"},
                       {"10"},
                       {"12"},
                       {"120"},
                       {"121"},
                       {"123"},
                       {"1e62"},
                       {"1e63"},
                       {"1e64"},
                       {"1e999999999999999999"}};
  expect_order(order_by({"1:number"}), numbers);
  expect_order(order_by({"1:number:desc"}), reversed(numbers));
  EXPECT_EQ(hex(key_of(order_by({"1:number"}), "12.5")), "b2 19 64");
  EXPECT_EQ(hex(key_of(order_by({"1:number:desc", "2"}), "12.5,x")), "4d e6 9b 78");
}

TEST(CsvKeys, WhatIsNoNumberIsMalformed) {
  const CsvOrder order = order_by({"1:number"});
  for (const char* text : {"x", "1x", "1,5", "1 2", "--1", "+", ".", "e5", "1e", "1e+", "0x10",
                           "inf", "nan", "1.2.3", "1e9999999999999999999", "1_000"}) {
    const std::string row = '"' + std::string(text) + '"';
    // There may be advice after it.
    EXPECT_TRUE(fault_of(order, row)
                    .value_or("")
                    .starts_with("column 1: '" + std::string(text) + "' is not a number"))
        << text;
  }
  EXPECT_EQ(fault_of(order_by({"1:integer"}), "1.0"), "column 1: '1.0' is not an integer");
  EXPECT_EQ(fault_of(order_by({"1:integer"}), "1e3"), "column 1: '1e3' is not an integer");
  EXPECT_EQ(fault_of(order_by({"1:integer"}), "-12345678901234567890123"), std::nullopt);
}

// A decimal number as digits around the point, for comparing without looking at exponents.
struct PlainNumber {
  bool negative;
  std::string digits;  // 60 before the point, 60 behind

  std::strong_ordering operator<=>(const PlainNumber& other) const {
    const auto sign = [](const PlainNumber& n) {
      return n.digits.find_first_not_of('0') == std::string::npos ? 0 : n.negative ? -1 : 1;
    };
    if (sign(*this) != sign(other)) return sign(*this) <=> sign(other);
    return sign(*this) < 0 ? other.digits <=> digits : digits <=> other.digits;
  }
};

TEST(CsvKeys, NumbersAgreeWithAPlainComparison) {
  Random random(5);
  const CsvOrder order = order_by({"1:number", "2"});
  PlainNumber last_number{false, std::string(120, '0')};
  std::string last_key = key_of(order, "0,");
  for (int i = 0; i < 100000; ++i) {
    const bool negative = random.below(2) == 0;
    std::string whole, fraction;
    for (std::size_t d = random.below(4) == 0 ? random.below(30) : random.below(3); d > 0; --d) {
      whole += static_cast<char>('0' + random.below(random.below(2) == 0 ? 2 : 10));
    }
    for (std::size_t d = random.below(4) == 0 ? random.below(30) : random.below(3); d > 0; --d) {
      fraction += static_cast<char>('0' + random.below(random.below(2) == 0 ? 2 : 10));
    }
    if (whole.empty() && fraction.empty()) continue;
    const int exponent = random.below(2) == 0 ? static_cast<int>(random.below(21)) - 10 : 0;
    std::string text = (negative ? "-" : "") + whole + "." + fraction;
    if (exponent != 0) text += "e" + std::to_string(exponent);
    PlainNumber number{
        negative, std::string(60 - whole.size() - static_cast<std::size_t>(exponent), '0') + whole +
                      fraction};
    number.digits.resize(120, '0');
    ASSERT_EQ(fault_of(order, text + ","), std::nullopt) << text;
    const std::string key = key_of(order, text + ",");
    ASSERT_EQ(number <=> last_number, key <=> last_key) << text << " " << hex(last_key);
    // Often compared with a neighbour.
    if (random.below(2) == 0) {
      last_number = number;
      last_key = key;
    }
  }
}

TEST(CsvKeys, DatesAreMomentsInUtc) {
  const Groups dates{{"0000-01-01T00:00:00+23:59"},
                     {"0000-01-01"},
                     {"1969-12-31T23:59:59.999999999Z"},
                     {"1970-01-01", "19700101", "1970-01-01T00:00", "1970-01-01T00:00:00Z",
                      "1970-01-01 01:00+01:00", "1969-12-31T24:00:00", "1969-12-31t23:59:60z",
                      "19691231T190000-0500", "1970-01-01 00:00:00 +0000",
                      "1970-01-01T00:00:00,000", "1970-01-01T05:30:00+05:30"},
                     {"1970-01-01T00:00:00.000000001"},
                     {"1970-01-01T00:00:00.1", "1970-01-01T00:00:00.100000000000"},
                     {"1970-01-01T00:00:01"},
                     {"2000-02-29"},
                     {"2000-03-01"},
                     {"2024-02-29T12:00:00-01:00", "2024-02-29T13:00:00Z"},
                     {"9999-12-31T23:59:59.999999999-23:59"}};
  expect_order(order_by({"1:date"}), dates);
  expect_order(order_by({"1:date:desc"}), reversed(dates));
}

TEST(CsvKeys, WhatIsNoDateIsMalformed) {
  for (const char* text : {"x",
                           "2024",
                           "2024-1-1",
                           "2024-13-01",
                           "2024-00-01",
                           "2023-02-29",
                           "1900-02-29",
                           "2024-01-00",
                           "2024-01-32",
                           "2024-01-01T",
                           "2024-01-01T1",
                           "2024-01-01T12",
                           "2024-01-01T25:00",
                           "2024-01-01T24:00:01",
                           "2024-01-01T12:60",
                           "2024-01-01T12:00:61",
                           "2024-01-01T12:00:00.",
                           "2024-01-01T12:00:00.0000000001",
                           "2024-01-01T12:00Zx",
                           "2024-01-01T12:00+24:00",
                           "2024-01-01T12:00+1",
                           "2024-01-01x",
                           "01.02.2024",
                           "1/2/2024",
                           "-2024-01-01",
                           "2024-0101"}) {
    EXPECT_TRUE(fault_of(order_by({"1:date"}), text)
                    .value_or("")
                    .starts_with("column 1: '" + std::string(text) + "' is not a date (ISO 8601)"))
        << text;
  }
}

TEST(CsvKeys, DatesAgreeWithTheCalendarOfTheStandardLibrary) {
  Random random(6);
  const CsvOrder order = order_by({"1:date"});
  std::chrono::sys_seconds last{};
  std::string last_key = key_of(order, "1970-01-01");
  for (int i = 0; i < 50000; ++i) {
    using namespace std::chrono;
    const auto days = sys_days(year(0) / 1 / 1) + std::chrono::days(random.below(3652425));
    const year_month_day date(days);
    const int hour = static_cast<int>(random.below(24)),
              minute = static_cast<int>(random.below(60)),
              second = static_cast<int>(random.below(60)),
              offset = static_cast<int>(random.below(24 * 60));
    const bool west = random.below(2) == 0;
    char text[64];
    std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d%c%02d:%02d",
                  static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                  static_cast<unsigned>(date.day()), hour, minute, second, west ? '-' : '+',
                  offset / 60, offset % 60);
    const sys_seconds moment =
        days + hours(hour) + minutes(minute) + seconds(second) + minutes(west ? offset : -offset);
    ASSERT_EQ(fault_of(order, text), std::nullopt) << text;
    const std::string key = key_of(order, text);
    ASSERT_EQ(moment <=> last, key <=> last_key) << text;
    last = moment;
    last_key = key;
  }
}

TEST(CsvKeys, SeveralColumnsOneAfterTheOther) {
  const CsvOrder order = order_by({"3:number:desc", "1", "1:desc", "2:integer"});
  expect_order(order, {{"a,1,10"}, {"a,2,10"}, {"ab,1,10"}, {"b,0,10"}, {"a,0,9.5"}, {"a,0,-1"}});
}

TEST(CsvKeys, AgreeWithFieldsComparedOneByOne) {
  Random random(7);
  for (int i = 0; i < 2000; ++i) {
    CsvOrder order;
    order.empty_last = random.below(2) == 0;
    order.descending = random.below(2) == 0;
    for (std::size_t k = random.below(4); k-- > 0;) {
      order.keys.push_back({{random.below(3), ""}, CsvType::text, random.below(2) == 0});
    }
    const auto random_row = [&] {
      std::string row;
      const std::size_t count = order.keys.empty() ? 1 + random.below(3) : 3;
      for (std::size_t f = 0; f < count; ++f) {
        std::string value(random.below(4), ' ');
        for (char& c : value) c = std::string_view("\0\1\2ab,\"\n\xff\xfe", 10)[random.below(10)];
        if (f > 0) row += ',';
        append_field(value, ',', row);
      }
      return row;
    };
    const auto compare_values = [&](const std::string& x, const std::string& y, bool descending) {
      if (x.empty() != y.empty()) {
        return x.empty() == order.empty_last ? std::strong_ordering::greater
                                             : std::strong_ordering::less;
      }
      return descending ? y <=> x : x <=> y;
    };
    for (int j = 0; j < 50; ++j) {
      const std::string a = random_row(), b = random_row();
      const auto x = reference::read_row(a, ',').fields, y = reference::read_row(b, ',').fields;
      std::strong_ordering expected = std::strong_ordering::equal;
      for (const CsvKey& key : order.keys) {
        if (expected != 0) break;
        expected = compare_values(x[key.column.index], y[key.column.index], key.descending);
      }
      if (order.keys.empty()) {
        for (std::size_t f = 0; f < std::min(x.size(), y.size()) && expected == 0; ++f) {
          expected = compare_values(x[f], y[f], order.descending);
        }
        if (expected == 0) {
          expected = order.descending ? y.size() <=> x.size() : x.size() <=> y.size();
        }
      }
      const std::string key_a = key_of(order, a), key_b = key_of(order, b);
      ASSERT_EQ(key_a <=> key_b, expected) << a << " | " << b;
      for (std::size_t limit = 0; limit < key_a.size() + 2; ++limit) {
        const std::string start = key_of(order, a, limit);
        ASSERT_TRUE(key_a.starts_with(start));
        ASSERT_GE(start.size(), std::min(limit, key_a.size()));
      }
    }
  }
}

TEST(CsvKeys, SayWhichColumnIsMissingOrMalformed) {
  CsvOrder order = order_by({"price:number"});
  resolve_columns(order, "id,name,price", "");
  EXPECT_EQ(fault_of(order, "1,x"), "no column 3 (price): the row has 2 columns");
  EXPECT_EQ(fault_of(order, ""), "no column 3 (price): the row has one column");
  EXPECT_EQ(fault_of(order, "1,x,cheap,more"), "column 3 (price): 'cheap' is not a number");
  EXPECT_EQ(fault_of(order, "1,x,1,more"), std::nullopt);
  EXPECT_EQ(fault_of(order, "1,x,1,mo\"re"),
            "column 4: a quote in a field that does not start with one");
  EXPECT_EQ(fault_of(order_by({}), "1,\"x\"y"), "column 2: text after the closing quote");
  order.folds = {{FoldKind::sum, CsvColumn{3, "stock"}, CsvType::number, {}}};
  EXPECT_EQ(fault_of(order, "1,x,1"), "no column 4 (stock): the row has 3 columns");
  EXPECT_EQ(fault_of(order, "1,x,1,many"), "column 4 (stock): 'many' is not a number");
  EXPECT_EQ(fault_of(order, "1,x,1,1e10001"),
            "column 4 (stock): '1e10001' has more than 10000 digits before or after the decimal "
            "point");
  EXPECT_EQ(fault_of(order, "1,x,1,"), std::nullopt);
}

TEST(CsvKeys, OfMalformedRowsAreMadeNevertheless) {
  const CsvOrder order = order_by({"1:number", "3"});
  EXPECT_EQ(key_of(order, "x,y"), key_of(order, ",y,"));
  EXPECT_EQ(key_of(order, "\"x"), key_of(order, ",,"));
}

TEST(CsvKeys, HaveTextsForMessages) {
  EXPECT_EQ(key_text(order_by({"2"}), "a,\"b,c\",d"), "b,c");
  EXPECT_EQ(key_text(order_by({"2"}), "a"), "");
}

TEST(CsvFields, HaveKeysOfTheirOwn) {
  const auto key = [](CsvType type, const char* row) {
    RowFields fields;
    fields.parse(row, ',');
    std::string key;
    const bool has_value = append_value_key(type, fields[0], key);
    EXPECT_EQ(has_value, !key.empty());
    return key;
  };
  EXPECT_LT(key(CsvType::number, "-1"), key(CsvType::number, " 0.5"));
  EXPECT_EQ(key(CsvType::number, "\"5\""), key(CsvType::number, "5.0"));
  EXPECT_EQ(key(CsvType::number, " "), "");
  EXPECT_EQ(key(CsvType::number, "x"), "");
  EXPECT_LT(key(CsvType::text, "a"), key(CsvType::text, "\"a\"\"\""));
  EXPECT_LT(key(CsvType::date, "2024-01-05T12:00+02:00"), key(CsvType::date, "2024-01-05T10:30Z"));
}

}  // namespace
}  // namespace xxl
