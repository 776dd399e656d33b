// Keys and folds as a user writes them, and their columns in a header.
#include "record/csv_spec.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "csv_order_test_support.h"

namespace xxl {
namespace {

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
  EXPECT_EQ(message("0"), "invalid --part-by '0': columns are counted from 1");
  EXPECT_EQ(message("99999999999999999999"),
            "invalid --part-by '99999999999999999999': the number of the column is too large");
  EXPECT_EQ(message("amount:foo"),
            "unknown type or order 'foo' in --part-by 'amount:foo': use text, number, integer, "
            "date, ci, natural, version, asc or desc (a name with a ':' goes in quotes, as in "
            "'\"a:b\":number')");
  EXPECT_EQ(message("a:desc:asc"),
            "invalid --part-by 'a:desc:asc': ':desc' and ':asc' exclude each other");
  EXPECT_EQ(message("a:date:t"),
            "invalid --part-by 'a:date:t': ':date' and ':t' exclude each other");
  EXPECT_EQ(message("a:n:n"), "invalid --part-by 'a:n:n': ':n' is given twice");
  EXPECT_EQ(
      message("a:nulls-first:nulls-last"),
      "invalid --part-by 'a:nulls-first:nulls-last': ':nulls-first' and ':nulls-last' exclude "
      "each other");
  EXPECT_EQ(message("a,b"), "invalid --part-by 'a,b': more than one column, where one is needed");
  EXPECT_EQ(message("a,"), "invalid --part-by 'a,': it starts with a column: a number or a name");
  EXPECT_EQ(message("-0"), "invalid --part-by '-0': columns are counted from 1");
  EXPECT_EQ(message("1-20000"), "invalid --part-by '1-20000': a range of more than 10000 columns");
  EXPECT_EQ(
      message("a:d:%d/%Q"),
      "invalid --part-by 'a:d:%d/%Q': the format '%d/%Q': '%Q' is not known: use %Y %y %m %b %B "
      "%d %e %j %H %I %M %S %f %p %z %a %A %F %D %T %R or %%");
  EXPECT_EQ(message("a:n:1.2.3"),
            "invalid --part-by 'a:n:1.2.3': the format '1.2.3' is not a number, as in 1.234,56 or "
            "$1,234.56");
  EXPECT_EQ(message("\"a"), "invalid --part-by '\"a': the quote is not closed");
  EXPECT_EQ(message("\"a\"b"), "invalid --part-by '\"a\"b': text after the closing quote");
  EXPECT_EQ(message(""), "invalid --part-by '': it starts with a column: a number or a name");
  EXPECT_TRUE(message("1:").starts_with("unknown type or order '' in --part-by '1:': use text"));
  EXPECT_EQ(usage_of([] { parse_csv_column("a:b", "--sum"); }),
            "invalid --sum 'a:b': a name with a ':' goes in quotes, as in '\"a:b\"'");
}

std::vector<CsvKey> keys_of(const std::string& spec) {
  return parse_csv_keys(std::vector<std::string>{spec});
}

TEST(CsvKeyOption, ListsColumnsWithWordsInAnyOrder) {
  const auto keys = keys_of("amount:desc:n,name,\"a,b\":nulls-last:ci,-1:i");
  ASSERT_EQ(keys.size(), 4u);
  EXPECT_EQ(keys[0], (CsvKey{{CsvColumn::kByName, "amount"}, CsvType::number, true}));
  EXPECT_EQ(keys[1], (CsvKey{{CsvColumn::kByName, "name"}, CsvType::text, false}));
  EXPECT_EQ(keys[2], (CsvKey{{CsvColumn::kByName, "a,b"}, CsvType::ci, false, {}, {true}, false}));
  EXPECT_EQ(keys[3], (CsvKey{{CsvColumn::kByName, "", 1}, CsvType::integer, false}));
  for (const auto& [word, type] :
       std::vector<std::pair<const char*, CsvType>>{{"t", CsvType::text},
                                                    {"num", CsvType::number},
                                                    {"numeric", CsvType::number},
                                                    {"float", CsvType::number},
                                                    {"int", CsvType::integer},
                                                    {"d", CsvType::date},
                                                    {"natural", CsvType::natural},
                                                    {"version", CsvType::version}}) {
    EXPECT_EQ(parse_csv_key(std::string("x:") + word).type, type) << word;
  }
}

TEST(CsvKeyOption, FormatsEndWhereTheNextWordOrKeyStarts) {
  const auto formats = [](const char* spec) {
    std::vector<std::string> all;
    for (const CsvKey& key : keys_of(spec)) all.push_back(key.format);
    return all;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(formats("a:n:1.234,56,b"), (Texts{"1.234,56", ""}));
  EXPECT_EQ(formats("a:n:1.234,56,2"), (Texts{"1.234,56", ""}));
  EXPECT_EQ(formats("a:n:1,234,2:n"), (Texts{"1,234", ""}));
  EXPECT_EQ(formats("a:n:$1,234.56:desc,b"), (Texts{"$1,234.56", ""}));
  EXPECT_EQ(formats("a:n:1 234,56 EUR,b"), (Texts{"1 234,56 EUR", ""}));
  EXPECT_EQ(formats("a:n,12"), (Texts{"", ""}));
  EXPECT_EQ(formats("a:n:\"1,5\":desc"), (Texts{"1,5"}));
  EXPECT_EQ(formats("a:d:%d/%m/%Y,b:d:%b %d, %Y %H:%M:desc"),
            (Texts{"%d/%m/%Y", "%b %d, %Y %H:%M"}));
  EXPECT_EQ(formats("a:d:\"am %d. %m. %Y, um %H\""), (Texts{"am %d. %m. %Y, um %H"}));
  EXPECT_TRUE(keys_of("a:d:%b %d, %Y %H:%M:desc")[0].descending);
}

TEST(CsvKeyOption, RangesAndColumnsFromTheLast) {
  const auto columns = [](const char* spec) {
    CsvOrder order;
    order.keys = keys_of(spec);
    resolve_columns(order, "a,b,c,d,2-3", "f.csv");
    std::string text;
    for (const CsvKey& key : order.keys) text += std::to_string(key.column.index + 1);
    return text;
  };
  EXPECT_EQ(columns("2-4"), "234");
  EXPECT_EQ(columns("4-2:n"), "432");
  EXPECT_EQ(columns("3-,1"), "3451");
  EXPECT_EQ(columns("-1,-5"), "51");
  EXPECT_EQ(columns("\"2-3\""), "5");
  EXPECT_EQ(columns("2-2"), "2");
  EXPECT_EQ(usage_of([&] { columns("-6"); }), "f.csv: there is no column -6: there are 5 columns");
  EXPECT_EQ(usage_of([&] { columns("6-"); }), "f.csv: there is no column 6: there are 5 columns");
  CsvOrder order;
  order.keys = keys_of("2-");
  EXPECT_NE(first_named(order), nullptr);
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
  EXPECT_EQ(fold(FoldKind::max, "1:d:%d/%m/%Y %H:%M:last").format, "%d/%m/%Y %H:%M");
  EXPECT_EQ(fold(FoldKind::max, "1:d:%d/%m/%Y %H:%M:last").name, "last");
  EXPECT_EQ(fold(FoldKind::sum, "1:n:1.234,56:total").format, "1.234,56");
  EXPECT_EQ(fold(FoldKind::sum, "1:n:1.234,56:total").name, "total");
  EXPECT_EQ(fold(FoldKind::max, "1:n:best2").name, "best2");
  EXPECT_EQ(fold(FoldKind::max, "1:n:\"2\"").name, "2");
  const auto message = [&](FoldKind kind, const char* spec) {
    return usage_of([&] { fold(kind, spec); });
  };
  EXPECT_EQ(message(FoldKind::sum, "a:b:c"),
            "invalid --sum 'a:b:c': a name with a ':' goes in quotes, as in '\"a:b\"'");
  EXPECT_EQ(message(FoldKind::sum, "a:text"),
            "invalid --sum 'a:text': it takes numbers only; a name like that goes in quotes, as in "
            "'a:\"text\"'");
  EXPECT_EQ(message(FoldKind::first, "a:n"),
            "invalid --first 'a:n': it takes no type; a name like that goes in quotes, as in "
            "'a:\"n\"'");
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

}  // namespace
}  // namespace xxl
