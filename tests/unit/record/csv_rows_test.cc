// Where rows end, what their fields are, and what is malformed.
#include "record/csv_rows.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/error.h"
#include "base/random.h"
#include "csv_reference.h"
#include "record/row_splitter.h"

namespace xxl {
namespace {

using Kind = RowFault::Kind;

// In memory of exactly its size, so that a sanitizer sees every read beyond its end.
class Exact {
 public:
  explicit Exact(std::string_view text) : data_(new char[text.size()]), size_(text.size()) {
    std::copy(text.begin(), text.end(), data_.get());
  }
  std::string_view view() const { return {data_.get(), size_}; }

 private:
  std::unique_ptr<char[]> data_;
  std::size_t size_;
};

std::string random_text(Random& random, std::string_view alphabet, std::size_t size) {
  std::string text(size, '\0');
  for (char& c : text) c = alphabet[random.below(alphabet.size())];
  return text;
}

std::vector<std::string> values_of(std::string_view row, char separator = ',') {
  RowFields fields;
  fields.parse(row, separator);
  EXPECT_FALSE(fields.fault()) << row;
  std::vector<std::string> values(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) fields[i].append_value(values[i]);
  return values;
}

RowFault fault_of(std::string_view row) {
  RowFields fields;
  fields.parse(row, ',');
  return fields.fault();
}

std::vector<std::pair<std::string, Kind>> split(std::string_view text,
                                                std::size_t most_open = RowSplitter::kUnbounded) {
  std::vector<std::pair<std::string, Kind>> rows;
  RowSplitter splitter(',', '\n', most_open);
  while (!text.empty()) {
    const RowSplitter::Row row = *splitter.next(text, true);
    const std::string_view found = text.substr(0, row.size);
    rows.emplace_back(found, fault_of(found).kind);
    text.remove_prefix(row.size + (row.terminated ? 1 : 0));
  }
  return rows;
}

using Values = std::vector<std::string>;

TEST(CsvFields, AreSplitAtSeparators) {
  EXPECT_EQ(values_of("a,bc,d"), (Values{"a", "bc", "d"}));
  EXPECT_EQ(values_of(""), (Values{""}));
  EXPECT_EQ(values_of(","), (Values{"", ""}));
  EXPECT_EQ(values_of("a\tb,c", '\t'), (Values{"a", "b,c"}));
}

TEST(CsvFields, QuotesAreTakenOff) {
  EXPECT_EQ(values_of(R"("a,b","",c)"), (Values{"a,b", "", "c"}));
  EXPECT_EQ(values_of(R"("say ""no"" twice","""")"), (Values{"say \"no\" twice", "\""}));
  EXPECT_EQ(values_of("\"two\r\nlines\",x"), (Values{"two\r\nlines", "x"}));
}

TEST(CsvFields, CarriageReturnBelongsToTheLineEnd) {
  EXPECT_EQ(values_of("a,b\r"), (Values{"a", "b"}));
  EXPECT_EQ(values_of("a,\"b\"\r"), (Values{"a", "b"}));
  EXPECT_EQ(values_of("a\r,b\r\r"), (Values{"a\r", "b\r"}));
  EXPECT_EQ(values_of("\r"), (Values{""}));
}

TEST(CsvFields, SayWhatIsMalformedAndWhere) {
  EXPECT_EQ(fault_of("a,b\"c"), (RowFault{Kind::stray_quote, 1, 3}));
  EXPECT_EQ(fault_of("\"a\"b,c"), (RowFault{Kind::text_after_quote, 0, 3}));
  EXPECT_EQ(fault_of("a,\"b\" ,c"), (RowFault{Kind::text_after_quote, 1, 5}));
  EXPECT_EQ(fault_of("a,b,\"c,d"), (RowFault{Kind::unterminated_quote, 2, 4}));
  EXPECT_EQ(fault_of("\"a\r"), (RowFault{Kind::unterminated_quote, 0, 0}));
  EXPECT_EQ(fault_of("a,b\"c").describe(),
            "column 2: a quote in a field that does not start with one");
}

TEST(CsvFields, AgreeWithAPlainReader) {
  Random random(1);
  RowFields fields;
  for (int i = 0; i < 200000; ++i) {
    const Exact row(random_text(random, "aaa,,\"\"\r\n", random.below(i % 8 == 0 ? 100 : 12)));
    const reference::Row expected = reference::read_row(row.view(), ',');
    fields.parse(row.view(), ',');
    ASSERT_EQ(!fields.fault(), expected.valid) << row.view();
    ASSERT_EQ(fields.size(), expected.fields.size()) << row.view();
    for (std::size_t f = 0; f < fields.size(); ++f) {
      std::string value;
      fields[f].append_value(value);
      ASSERT_EQ(value, expected.fields[f]) << row.view();
    }
  }
}

// What \p end ends in \p text, one after the other.
Values parts_of(std::string_view text, char end) {
  Values parts;
  while (!text.empty()) {
    parts.emplace_back(text.substr(0, text.find(end)));
    text.remove_prefix(parts.back().size() + 1);
  }
  return parts;
}

struct PythonCase {
  char separator;
  std::string_view text;
  std::string_view fields;  // "\x1f" ends each, "\x1e" each row
};

constexpr PythonCase python_cases[] = {
#include "csv_python_rows.inc"
};

TEST(CsvFields, AgreeWithPython) {
  for (const PythonCase& test : python_cases) {
    std::string_view rest = test.text;
    for (const std::string& row : parts_of(test.fields, '\x1e')) {
      const Values expected = parts_of(row, '\x1f');
      const auto found = RowSplitter(test.separator, '\n').next(rest, false);
      ASSERT_TRUE(found) << test.text;
      EXPECT_EQ(values_of(rest.substr(0, found->size), test.separator), expected) << test.text;
      rest.remove_prefix(found->size + 1);
    }
    EXPECT_TRUE(rest.empty()) << test.text;
  }
}

TEST(CsvScan, CountsForBothAssumptions) {
  const QuoteScan scan = scan_quotes("a\nb\"c\nd\"e\nf", '\n');
  EXPECT_FALSE(scan.odd_quotes);
  EXPECT_EQ(scan.if_outside, (QuoteScan::Ends{2, 2, 10}));
  EXPECT_EQ(scan.if_inside, (QuoteScan::Ends{1, 6, 6}));
}

TEST(CsvScan, AgreesWithAPlainReader) {
  Random random(2);
  for (int i = 0; i < 20000; ++i) {
    const std::string_view alphabet = i % 3 == 0 ? "aaaaaaaaaaaaaaaaaaaa\n" : "aa\"\n\n";
    const Exact text(random_text(random, alphabet, random.below(400)));
    const QuoteScan scan = scan_quotes(text.view(), '\n');
    for (const bool inside : {false, true}) {
      const std::vector<std::size_t> ends = reference::row_ends(text.view(), inside, '\n');
      QuoteScan::Ends expected;
      if (!ends.empty()) expected = {ends.size(), ends.front() + 1, ends.back() + 1};
      ASSERT_EQ(inside ? scan.if_inside : scan.if_outside, expected) << text.view();
      std::vector<std::size_t> appended;
      const bool ends_inside = append_row_ends(text.view(), inside, '\n', 0, appended);
      ASSERT_EQ(appended, ends) << text.view();
      ASSERT_EQ(ends_inside, inside != scan.odd_quotes);
    }
  }
}

TEST(CsvScan, RowEndMayBeAnyByte) {
  const std::string_view text("a\0b", 3);
  EXPECT_EQ(scan_quotes(text, '\0').if_outside, (QuoteScan::Ends{1, 2, 2}));
  std::vector<std::size_t> ends;
  append_row_ends(text, false, '\0', 10, ends);
  EXPECT_EQ(ends, std::vector<std::size_t>{11});
}

TEST(CsvSplitter, AStrayQuoteCostsItsOwnRowOnly) {
  using Rows = std::vector<std::pair<std::string, Kind>>;
  EXPECT_EQ(split("1,5\" nail\n2,\"bolt\n3,\"a \"\"big\"\" one\"\n"),
            (Rows{{"1,5\" nail", Kind::stray_quote},
                  {"2,\"bolt", Kind::unterminated_quote},
                  {"3,\"a \"\"big\"\" one\"", Kind::none}}));
  EXPECT_EQ(split("a,\"b\nc\nd"),
            (Rows{{"a,\"b", Kind::unterminated_quote}, {"c", Kind::none}, {"d", Kind::none}}));
  EXPECT_EQ(
      split("\"x\ny\",z\n\"a\"b\n\n"),
      (Rows{{"\"x\ny\",z", Kind::none}, {"\"a\"b", Kind::text_after_quote}, {"", Kind::none}}));
}

TEST(CsvSplitter, AQuoteThatStaysOpenTooLongCostsItsOwnRowOnly) {
  using Rows = std::vector<std::pair<std::string, Kind>>;
  const std::string text = "1,\"a\n2,b\n3,\"\n";
  EXPECT_EQ(split(text, 8), (Rows{{"1,\"a\n2,b\n3,\"", Kind::none}}));
  EXPECT_EQ(split(text, 7), (Rows{{"1,\"a", Kind::unterminated_quote},
                                  {"2,b", Kind::none},
                                  {"3,\"", Kind::unterminated_quote}}));
  // Its own line may be of any length.
  EXPECT_EQ(split("\"" + std::string(100, 'a') + "\n\",b\n", 2),
            (Rows{{"\"" + std::string(100, 'a') + "\n\",b", Kind::none}}));
}

TEST(CsvSplitter, AgreesWithAPlainReader) {
  Random random(3);
  for (int i = 0; i < 100000; ++i) {
    const Exact text(random_text(random, "aaa,,\"\"\"\n\n\r", 1 + random.below(40)));
    const std::size_t most_open = i % 2 == 0 ? RowSplitter::kUnbounded : 1 + random.below(20);
    const std::vector<reference::Piece> expected =
        reference::split_rows(text.view(), ',', '\n', most_open);
    RowSplitter splitter(',', '\n', most_open);
    std::string_view rest = text.view();
    for (const reference::Piece& piece : expected) {
      // The text comes in pieces.
      std::optional<RowSplitter::Row> row;
      for (std::size_t given = 0; !row;) {
        const std::string_view next = rest.substr(given, 1 + random.below(5));
        given += next.size();
        row = splitter.next(next, given == rest.size() && random.below(2) == 0);
        if (!row && given == rest.size()) row = splitter.next({}, true);
      }
      ASSERT_EQ(rest.substr(0, row->size), piece.row) << text.view();
      ASSERT_EQ(!fault_of(piece.row), piece.valid) << text.view();
      rest.remove_prefix(row->size + (row->terminated ? 1 : 0));
    }
    ASSERT_TRUE(rest.empty());
  }
}

TEST(CsvSplitter, AgreesWithCountingOnWellFormedText) {
  Random random(4);
  for (int i = 0; i < 1000; ++i) {
    std::string text;
    std::vector<std::string> rows;
    for (std::size_t r = 1 + random.below(20); r > 0; --r) {
      std::string row;
      for (std::size_t f = random.below(4); f-- > 0;) {
        append_field(random_text(random, "ab ,\"\n\r", random.below(30)), ',', row);
        if (f > 0) row += ',';
      }
      text += row + "\n";
      rows.push_back(row);
    }
    std::vector<std::size_t> ends;
    append_row_ends(text, false, '\n', 0, ends);
    ASSERT_EQ(ends.size(), rows.size());
    const auto split_rows = split(text);
    ASSERT_EQ(split_rows.size(), rows.size());
    for (std::size_t r = 0; r < rows.size(); ++r) {
      ASSERT_EQ(split_rows[r], std::pair(rows[r], Kind::none));
    }
  }
}

TEST(CsvFields, MayHaveNoQuotes) {
  const FieldSyntax tabs('\t', false);
  RowFields fields;
  fields.parse("2\t\"open\t5\" nail\t\r", tabs);
  EXPECT_FALSE(fields.fault());
  Values values;
  for (const FieldSpan& field : fields) field.append_value(values.emplace_back());
  EXPECT_EQ(values, (Values{"2", "\"open", "5\" nail", ""}));
  std::string out;
  append_field("5\" nail", tabs, out);
  EXPECT_EQ(out, "5\" nail");
  EXPECT_THROW(append_field("a\tb", tabs, out), Error);
}

FieldSyntax syntax_of(std::string_view separator, bool quotes, char escape) {
  FieldSyntax syntax(',', quotes);
  syntax.separator = FieldSeparator(separator);
  syntax.escape = escape;
  return syntax;
}

TEST(CsvFields, MayHaveEscapesAndSeparatorsOfSeveralBytes) {
  const auto values = [](std::string_view row, const FieldSyntax& syntax) {
    RowFields fields;
    fields.parse(row, syntax);
    EXPECT_FALSE(fields.fault()) << row;
    Values found;
    for (const FieldSpan& field : fields) field.append_value(found.emplace_back());
    return found;
  };
  EXPECT_EQ(values("a|b||\"c||d\"|||e", syntax_of("||", true, '\0')),
            (Values{"a|b", "c||d", "|e"}));
  EXPECT_EQ(values("a\\,b,\"c\\\"\"\"\",\\n\\\\n", syntax_of(",", true, '\\')),
            (Values{"a,b", "c\"\"", "\n\\n"}));
  EXPECT_EQ(values("\"a^", syntax_of("::", false, '^')), (Values{"\"a^"}));
}

// Rows are written, and found and read again, in pieces of any size.
TEST(CsvSplitter, FindsRowsOfAllSyntaxes) {
  Random random(5);
  for (int i = 0; i < 20000; ++i) {
    static constexpr std::string_view kSeparators[] = {",", "||", "aab", "ab", "::;"};
    const bool quotes = random.below(3) > 0;
    const bool escapes = !quotes || random.below(2) == 0;
    const FieldSyntax syntax =
        syntax_of(kSeparators[random.below(5)], quotes, escapes ? '\\' : '\0');
    std::string text;
    std::vector<Values> rows;
    for (std::size_t r = 1 + random.below(4); r > 0; --r) {
      Values& row = rows.emplace_back();
      for (std::size_t f = 1 + random.below(4); f > 0; --f) {
        row.push_back(random_text(random, "ab,|:;\\\"\n\rn", random.below(6)));
        if (row.size() > 1) text += syntax.separator.bytes();
        append_field(row.back(), syntax, text);
      }
      text += '\n';
    }
    RowSplitter splitter(syntax, '\n');
    std::string_view rest = text;
    for (const Values& row : rows) {
      std::optional<RowSplitter::Row> found;
      for (std::size_t given = 0; !found;) {
        const std::string_view next = rest.substr(given, 1 + random.below(5));
        given += next.size();
        found = splitter.next(next, false);
        ASSERT_TRUE(found || given < rest.size()) << text;
      }
      RowFields fields;
      fields.parse(rest.substr(0, found->size), syntax);
      ASSERT_FALSE(fields.fault()) << text;
      Values values;
      for (const FieldSpan& field : fields) field.append_value(values.emplace_back());
      ASSERT_EQ(values, row) << text;
      rest.remove_prefix(found->size + 1);
    }
    ASSERT_TRUE(rest.empty());
  }
}

// A malformed row is the same row however the text comes.
TEST(CsvSplitter, DoesNotDependOnPieces) {
  Random random(6);
  for (int i = 0; i < 20000; ++i) {
    static constexpr std::string_view kSeparators[] = {",", "||", "aab"};
    const FieldSyntax syntax =
        syntax_of(kSeparators[random.below(3)], true, random.below(2) == 0 ? '\0' : '\\');
    const std::string text = random_text(random, "ab,|\\\"\"\n\r", 1 + random.below(30));
    const std::size_t most_open = i % 2 == 0 ? RowSplitter::kUnbounded : 1 + random.below(10);
    RowSplitter splitter(syntax, '\n', most_open);
    for (std::string_view rest = text; !rest.empty();) {
      const RowSplitter::Row whole = *RowSplitter(syntax, '\n', most_open).next(rest, true);
      std::optional<RowSplitter::Row> row;
      for (std::size_t given = 0; !row;) {
        const std::string_view next = rest.substr(given, 1 + random.below(5));
        given += next.size();
        row = splitter.next(next, given == rest.size());
      }
      ASSERT_EQ(*row, whole) << text;
      rest.remove_prefix(row->size + (row->terminated ? 1 : 0));
    }
  }
}

TEST(CsvFields, CommentsPrecedeTheHeader) {
  FieldSyntax syntax;
  EXPECT_EQ(comment_bytes("#a\nb\n", syntax), 0u);
  syntax.comment = FieldSeparator("##");
  const std::string header = "\xef\xbb\xbf##\"\n\r\n## b\nid,n";
  EXPECT_EQ(names_row(header, syntax), "id,n");
  EXPECT_EQ(count_comments(header, syntax), 2u);
  EXPECT_EQ(comment_bytes("\n\n##a\n\nid\n##b\n", syntax), 6u);
  EXPECT_EQ(comment_bytes("##a", syntax), 0u);
  EXPECT_EQ(starts_comment("#", syntax), std::nullopt);
  EXPECT_EQ(starts_comment("#a", syntax), false);
  EXPECT_TRUE(have_same_names(header, "id,n\r", syntax));
}

TEST(CsvFields, HeadersAreTheSameIfTheirNamesAre) {
  EXPECT_TRUE(have_same_names("id,name", "\xef\xbb\xbf\"id\",name\r", ','));
  EXPECT_TRUE(have_same_names("\"a\"\"b\"", "\"a\"\"b\"\r", ','));
  EXPECT_FALSE(have_same_names("id,name", "id,Name", ','));
  EXPECT_FALSE(have_same_names("id,name", "id,name,", ','));
  EXPECT_FALSE(have_same_names("id,name", "\"id,name\"", ','));
  EXPECT_FALSE(have_same_names("id", "\"id\"", {',', false}));
  EXPECT_TRUE(have_same_names("i\"d", "i\"d\r", ','));  // malformed
}

TEST(CsvFields, AreQuotedWhereTheyMustBe) {
  const auto quoted = [](std::string_view value) {
    std::string out;
    append_field(value, ',', out);
    return out;
  };
  EXPECT_EQ(quoted("a b;c"), "a b;c");
  EXPECT_EQ(quoted("a,b"), "\"a,b\"");
  EXPECT_EQ(quoted("a\"b\n"), "\"a\"\"b\n\"");
}

}  // namespace
}  // namespace xxl
