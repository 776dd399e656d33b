// Keys of rows: their order is that of the values, and what is no value is told.
#include "record/csv_keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstdio>

#include "base/error.h"
#include "base/random.h"
#include "csv_reference.h"

namespace xxl {
namespace {

CsvOrder order_by(std::initializer_list<const char*> keys, bool empty_last = false) {
  CsvOrder order;
  for (const char* key : keys) order.keys.push_back(parse_csv_key(key));
  order.empty_last = empty_last;
  return order;
}

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
  return keys.check(row);
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

std::string usage_of(auto&& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::usage);
    return error.what();
  }
  return "no error";
}

TEST(CsvKeyOption, NamesColumnTypeAndDirection) {
  EXPECT_EQ(parse_csv_key("2"), (CsvKey{{1, ""}, CsvType::text, false}));
  EXPECT_EQ(parse_csv_key("2:number:desc"), (CsvKey{{1, ""}, CsvType::number, true}));
  EXPECT_EQ(parse_csv_key("price:desc"), (CsvKey{{CsvColumn::kByName, "price"}, {}, true}));
  EXPECT_EQ(parse_csv_key("a b:date:asc"),
            (CsvKey{{CsvColumn::kByName, "a b"}, CsvType::date, false}));
  EXPECT_EQ(parse_csv_key("\"a:\"\"b\"\"\":integer"),
            (CsvKey{{CsvColumn::kByName, "a:\"b\""}, CsvType::integer, false}));
  EXPECT_EQ(parse_csv_key("\"2024\""), (CsvKey{{CsvColumn::kByName, "2024"}, {}, false}));
  EXPECT_EQ(parse_csv_column("3", "--sum"), (CsvColumn{2, ""}));
}

TEST(CsvKeyOption, SaysWhatIsWrong) {
  const auto message = [](const char* spec) { return usage_of([spec] { parse_csv_key(spec); }); };
  EXPECT_EQ(message("0"), "invalid --key '0': columns are counted from 1");
  EXPECT_EQ(message("99999999999999999999"),
            "invalid --key '99999999999999999999': the number of the column is too large");
  EXPECT_EQ(message("a:float"),
            "invalid --key 'a:float': unknown type 'float', use text, number, integer or date, and "
            "asc or desc (a name with a ':' goes in quotes, as in '\"a:b\":number')");
  EXPECT_EQ(message("a:desc:asc"), "invalid --key 'a:desc:asc': more than one direction");
  EXPECT_EQ(message("a:date:text"), "invalid --key 'a:date:text': more than one type");
  EXPECT_EQ(message("\"a"), "invalid --key '\"a': the quote is not closed");
  EXPECT_EQ(message("\"a\"b"), "invalid --key '\"a\"b': text after the closing quote");
  EXPECT_EQ(message(""), "invalid --key '': it starts with a column: a number or a name");
  EXPECT_TRUE(message("1:").starts_with("invalid --key '1:': unknown type ''"));
  EXPECT_EQ(usage_of([] { parse_csv_column("a:b", "--sum"); }),
            "invalid --sum 'a:b': a name with a ':' goes in quotes, as in '\"a:b\"'");
}

TEST(CsvFoldOption, NamesColumnTypeAndNewColumn) {
  const auto fold = [](FoldKind kind, const char* spec) { return parse_csv_fold(kind, spec); };
  EXPECT_EQ(fold(FoldKind::sum, "3"), (CsvFold{FoldKind::sum, {2, ""}, CsvType::number, ""}));
  EXPECT_EQ(fold(FoldKind::last, "a:b=c"),
            (CsvFold{FoldKind::last, {CsvColumn::kByName, "a"}, CsvType::text, "b=c"}));
  EXPECT_EQ(fold(FoldKind::min, "1:date:\"a:b\"").name, "a:b");
  EXPECT_EQ(fold(FoldKind::min, "1:date:\"a:b\"").type, CsvType::date);
  EXPECT_EQ(fold(FoldKind::max, "1:most").type, CsvType::number);
  EXPECT_EQ(fold(FoldKind::max, "1:\"text\"").name, "text");
  EXPECT_EQ(fold(FoldKind::max, "1:text:text").name, "text");
  const auto message = [&](FoldKind kind, const char* spec) {
    return usage_of([&] { fold(kind, spec); });
  };
  EXPECT_EQ(message(FoldKind::sum, "a:b:c"),
            "invalid --sum 'a:b:c': a name with a ':' goes in quotes, as in '\"a:b\"'");
  EXPECT_EQ(message(FoldKind::sum, "a:text"),
            "invalid --sum 'a:text': only --min and --max take a type; a name like that goes in "
            "quotes, as in 'a:\"text\"'");
  EXPECT_EQ(message(FoldKind::max, "a:"),
            "invalid --max 'a:': the name of the new column is empty");
}

TEST(CsvFoldOption, GivesEachFieldOneResultAndEachColumnOneName) {
  CsvOrder order;
  order.folds = {parse_csv_fold(FoldKind::min, "b:x"), parse_csv_fold(FoldKind::sum, "2")};
  resolve_columns(order, "a,b", "f.csv");
  check_folds(order);
  order.folds.push_back(parse_csv_fold(FoldKind::last, "b"));
  resolve_columns(order, "a,b", "f.csv");
  EXPECT_EQ(usage_of([&] { check_folds(order); }),
            "--sum and --last both take the place of column 2 (b): give one a name, as in "
            "COLUMN:NAME");
  EXPECT_EQ(usage_of([&] { resolve_columns(order, "x,b", "f.csv"); }),
            "f.csv: there is a column 'x' already: give that of --min another name");
}

TEST(CsvHeader, ResolvesNames) {
  CsvOrder order = order_by({"name", "2", "\"2\""});
  order.folds = {parse_csv_fold(FoldKind::sum, "id")};
  ASSERT_NE(first_named(order), nullptr);
  EXPECT_EQ(first_named(order)->name, "name");
  resolve_columns(order, "\xef\xbb\xbf\"id\",name,\"2\"\r", "f.csv");
  EXPECT_EQ(first_named(order), nullptr);
  EXPECT_EQ(order.keys[0].column.index, 1u);
  EXPECT_EQ(order.keys[1].column.index, 1u);
  EXPECT_EQ(order.keys[2].column.index, 2u);
  EXPECT_EQ(order.folds[0].column.index, 0u);
}

TEST(CsvHeader, NamesMustBeThereOnce) {
  CsvOrder order = order_by({"x"});
  EXPECT_EQ(usage_of([&] { resolve_columns(order, "id,name", "f.csv"); }),
            "f.csv: the header has no column 'x', only 'id', 'name'");
  EXPECT_EQ(usage_of([&] { resolve_columns(order, "x,id,x", "f.csv"); }),
            "f.csv: the header has more than one column 'x': give its number instead");
  EXPECT_THROW(resolve_columns(order, "x,i\"d", "f.csv"), Error);
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

TEST(CsvKeys, FieldsThatAreNotOfTheirTypeAreFirstOrLastWhateverTheDirection) {
  const Groups low{{"1,x"}, {"2,x"}};
  const Groups none{{",x", " ,x"}}, invalid{{" NA,x"}, {"\"N\"\"A\",x"}, {"NA,x"}, {"NAN,x"}};
  for (const char* second : {"2", "2:desc"}) {
    for (const bool descending : {false, true}) {
      for (const bool empty_last : {false, true}) {
        for (const InvalidKeys place : {InvalidKeys::first, InvalidKeys::last}) {
          CsvOrder order =
              order_by({descending ? "1:number:desc" : "1:number", second}, empty_last);
          order.invalid = place;
          Groups expected;
          const auto add = [&](const Groups& groups) {
            expected.insert(expected.end(), groups.begin(), groups.end());
          };
          if (!empty_last) add(none);
          if (place == InvalidKeys::first) add(invalid);
          add(descending ? reversed(low) : low);
          if (empty_last) add(none);
          if (place == InvalidKeys::last) add(invalid);
          expect_order(order, expected);
        }
      }
    }
  }
  CsvOrder order = order_by({"1:date", "2:integer:desc"});
  order.invalid = InvalidKeys::last;
  expect_order(order, {{"2024-01-01,1.5"}, {"soon,7"}, {"soon,1.5"}});
  EXPECT_EQ(hex(key_of(order, "NA,")), "ff 4e 41 00 00 00");
  EXPECT_EQ(fault_of(order, "NA"), "no column 2: the row has one column");
  order.folds = {{FoldKind::sum, CsvColumn{1, ""}, CsvType::number, {}}};
  EXPECT_EQ(fault_of(order, "NA,many"), "column 2: 'many' is not a number");
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
    EXPECT_EQ(fault_of(order, row), "column 1: '" + std::string(text) + "' is not a number");
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
    ASSERT_EQ(CsvKeys(order).check(text + ","), std::nullopt) << text;
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
    EXPECT_EQ(fault_of(order_by({"1:date"}), text),
              "column 1: '" + std::string(text) + "' is not a date (ISO 8601)");
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
    ASSERT_EQ(CsvKeys(order).check(text), std::nullopt) << text;
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
          expected = compare_values(x[f], y[f], false);
        }
        if (expected == 0) expected = x.size() <=> y.size();
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

TEST(CsvFields, AreFoundByColumn) {
  EXPECT_EQ(field_content("a,\"b,c\",d", ',', 1), "b,c");
  EXPECT_EQ(field_content("a", ',', 1), "");
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
