// What the rows of joins look like.
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "join/csv_join_rows.h"
#include "join/line_rows.h"
#include "watchdog.h"

namespace xxl {
namespace {

std::string pair_row(JoinRows& rows, std::string_view r, std::string_view s) {
  std::string row, part, row_of_part;
  rows.set_r(r);
  rows.append_pair(s, row);
  rows.append_part(s, part);
  rows.append_pair_of_part(part, row_of_part);
  EXPECT_EQ(row, row_of_part);
  return row;
}

std::string lone_row(JoinRows& rows, JoinSide side, std::string_view record) {
  std::string row;
  rows.append_alone(side, record, row);
  return row;
}

LineRowFormat line_format() {
  LineRowFormat format;
  format.key_fields = {std::vector<std::size_t>{0}, std::vector<std::size_t>{0}};
  return format;
}

TEST(LineRows, the_key_comes_first_then_the_other_fields_of_both) {
  LineRowFormat format = line_format();
  format.key_fields[1] = {1};
  LineRows rows(format);
  EXPECT_EQ(pair_row(rows, " k  a b", "x k y"), "k a b x y");
  EXPECT_EQ(lone_row(rows, JoinSide::r, "k a"), "k a");
  EXPECT_EQ(lone_row(rows, JoinSide::s, "x k y"), "k x y");
}

TEST(LineRows, fields_of_a_separator_may_be_empty_and_the_key_may_be_missing) {
  LineRowFormat format = line_format();
  format.syntax.separator = ':';
  format.key_fields = {std::vector<std::size_t>{2}, std::vector<std::size_t>{0}};
  LineRows rows(format);
  EXPECT_EQ(pair_row(rows, "a::", ":x"), ":a::x");
  EXPECT_EQ(pair_row(rows, "a", ""), ":a");
}

TEST(LineRows, a_format_takes_fields_from_anywhere_and_fills_what_is_empty_or_missing) {
  LineRowFormat format = line_format();
  format.fields = {{RowField::Origin::s, 1}, {RowField::Origin::key, 0}, {RowField::Origin::r, 3}};
  format.filler = "-";
  LineRows rows(format);
  EXPECT_EQ(pair_row(rows, "k a b c", "k z"), "z k c");
  EXPECT_EQ(pair_row(rows, "k a", "k"), "- k -");
  EXPECT_EQ(lone_row(rows, JoinSide::r, "k a b c"), "- k c");
  EXPECT_EQ(lone_row(rows, JoinSide::s, "k z"), "z k -");
}

TEST(LineRows, as_many_fields_as_counted_are_written_however_many_there_are) {
  LineRowFormat format = line_format();
  format.field_counts = {3, 2};
  format.filler = "-";
  LineRows rows(format);
  EXPECT_EQ(pair_row(rows, "k a", "k x y z"), "k a - x");
  EXPECT_EQ(lone_row(rows, JoinSide::s, "k x"), "k - - x");
  EXPECT_EQ(lone_row(rows, JoinSide::r, "k"), "k - - -");
}

TEST(LineRows, several_key_fields_come_in_the_order_of_the_key) {
  LineRowFormat format;
  format.key_fields = {std::vector<std::size_t>{2, 0}, std::vector<std::size_t>{0, 1}};
  LineRows rows(format);
  EXPECT_EQ(pair_row(rows, "b x a y", "a b z"), "a b x y z");
}

TEST(LineRows, without_a_separator_the_line_is_the_key) {
  LineRowFormat format = line_format();
  format.syntax.separator = '\n';
  LineRows rows(format);
  EXPECT_EQ(pair_row(rows, "a b", "a b"), "a b");
}

CsvRowFormat csv_format() {
  CsvRowFormat format;
  format.key_columns = {std::vector<std::size_t>{0}, std::vector<std::size_t>{1}};
  format.widths = {3, 2};
  return format;
}

TEST(CsvJoinRows, fields_are_copied_as_they_were_written) {
  CsvJoinRows rows(csv_format());
  EXPECT_EQ(pair_row(rows, R"("1","a,b","say ""x""")", R"("p",01)"),
            R"("1","a,b","say ""x""","p")");
}

TEST(CsvJoinRows, columns_of_the_side_that_is_missing_are_filled) {
  CsvRowFormat format = csv_format();
  CsvJoinRows empty(format);
  EXPECT_EQ(lone_row(empty, JoinSide::r, "1,a,b"), "1,a,b,");
  EXPECT_EQ(lone_row(empty, JoinSide::s, "p,1"), "1,,,p");
  format.filler = "not,known";
  CsvJoinRows filled(format);
  EXPECT_EQ(lone_row(filled, JoinSide::r, "1,a,b"), R"(1,a,b,"not,known")");
}

TEST(CsvJoinRows, rows_with_too_few_columns_are_filled_up) {
  CsvJoinRows rows(csv_format());
  EXPECT_EQ(pair_row(rows, "1", "p,1"), "1,,,p");
}

TEST(CsvJoinRows, rows_end_with_a_carriage_return_if_those_of_the_input_do) {
  CsvRowFormat format = csv_format();
  format.carriage_return = true;
  CsvJoinRows rows(format);
  EXPECT_EQ(pair_row(rows, "1,a,b", "p,1\r"), "1,a,b,p\r");
  EXPECT_EQ(lone_row(rows, JoinSide::s, "p,1"), "1,,,p\r");
}

TEST(JoinedHeader, names_that_both_sides_have_get_suffixes) {
  const CsvRowFormat format = csv_format();
  EXPECT_EQ(joined_header(format, {"id,name,v", "name,user"}, {"_1", "_2"}), "id,name_1,v,name_2");
  EXPECT_EQ(joined_header(format, {"id,name,v", "id,user"}, {"_1", "_2"}), "id,name,v,id_2");
  EXPECT_EQ(joined_header(format, {R"(id,"a""b",v)", R"("a""b",user)"}, {".r", ".s"}),
            R"(id,"a""b.r",v,"a""b.s")");
}

TEST(JoinedHeader, a_name_that_a_suffix_makes_must_be_new) {
  const CsvRowFormat format = csv_format();
  EXPECT_THROW(joined_header(format, {"id,name,name_2", "name,user"}, {"_1", "_2"}), Error);
  EXPECT_THROW(joined_header(format, {"name_2,name,v", "name,user"}, {"_1", "_2"}), Error);
  EXPECT_EQ(joined_header(format, {"id,v,v", "name,user"}, {"_1", "_2"}), "id,v,v,name");
}

// Each name is looked up, not compared with all others: that would be 10^10 comparisons.
TEST(JoinedHeader, of_many_columns) {
  const test::Watchdog watchdog;
  constexpr std::size_t kColumns = 300000;
  std::string header, expected;
  for (std::size_t i = 0; i < kColumns; ++i) {
    const std::string name = ",a_name_like_others_" + std::to_string(i);
    header += name;
    expected += name + "_1";
  }
  CsvRowFormat format = csv_format();
  format.key_columns[1] = {0};
  const std::string row = joined_header(format, {"id" + header, "id" + header}, {"_1", "_2"});
  EXPECT_TRUE(row.starts_with("id" + expected + ","));
  EXPECT_TRUE(row.ends_with("_" + std::to_string(kColumns - 1) + "_2"));
}

TEST(JoinedHeader, of_an_empty_file_there_are_no_columns) {
  const CsvRowFormat format = csv_format();
  EXPECT_EQ(joined_header(format, {"id,name,v", std::nullopt}, {"_1", "_2"}), "id,name,v");
  EXPECT_EQ(joined_header(format, {std::nullopt, "p,user"}, {"_1", "_2"}), "user,p");
}

TEST(JoinedHeader, a_malformed_header_is_an_error) {
  EXPECT_THROW(joined_header(csv_format(), {"id,\"name", "a,b"}, {"_1", "_2"}), Error);
}

}  // namespace
}  // namespace xxl
