// Rows with equal keys become one.
#include "record/row_fold.h"
#include "record/csv_spec.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "base/error.h"

namespace xxl {
namespace {

class RowFoldTest : public ::testing::Test {
 protected:
  void add(FoldKind kind, const char* spec) {
    options_.folds.push_back(parse_csv_fold(kind, spec));
  }
  std::string folded(std::initializer_list<const char*> rows) {
    if (!fold_) fold_ = make_row_fold(options_);
    fold_->begin(*rows.begin());
    for (auto row = rows.begin() + 1; row != rows.end(); ++row) fold_->add(*row);
    std::string out;
    fold_->finish(out);
    return out;
  }

  RowFoldOptions options_;
  std::unique_ptr<GroupFold> fold_;
};

TEST_F(RowFoldTest, counts_behind_the_last_column) {
  options_.count = true;
  EXPECT_EQ(folded({"a,\"b\"\r", "a,c\r"}), "a,\"b\",2\r");
  EXPECT_EQ(folded({"b"}), "b,1");
}

TEST_F(RowFoldTest, takes_the_place_of_fields) {
  add(FoldKind::last, "3");
  add(FoldKind::sum, "2");
  EXPECT_EQ(folded({"a,1,x,p\r", "a,,\"y,z\",q\r", "a,2.5,\"\",r\r"}), "a,3.5,\"\",p\r");
  EXPECT_EQ(folded({"b,\" \",x"}), "b,\" \",x") << "nothing to be summed";
}

TEST_F(RowFoldTest, appends_columns_in_the_order_of_folds) {
  add(FoldKind::max, "2:most");
  add(FoldKind::min, "2:least");
  add(FoldKind::mean, "2:\"a,b\"");
  add(FoldKind::collect, "3:all");
  options_.count = true;
  EXPECT_EQ(folded_header("k,v,t\r", options_), "k,v,t,most,least,\"a,b\",all,count\r");
  EXPECT_EQ(folded({"a,9,x", "a, 10 ,\"p;q\"", "a,-1,", "a,1e1,\"\"\"\""}),
            "a,9,x, 10 ,-1,7,\"x;\"\"p;q\"\";\"\"\"\"\"\"\"\"\",4");
  EXPECT_EQ(folded({"b,,"}), "b,,,,,,,1");
}

TEST_F(RowFoldTest, fills_rows_up_to_the_columns_of_the_header) {
  options_.count = true;
  EXPECT_EQ(folded({"a,b,c"}), "a,b,c,1") << "no header";
  fold_.reset();
  options_.header_columns = 2;
  EXPECT_EQ(folded({"a\r", "a,b\r"}), "a,,2\r");
  EXPECT_EQ(folded({"a,\"b,c\""}), "a,\"b,c\",1");
  options_.key_text = [](std::string_view row) { return std::string(row.substr(0, 1)); };
  fold_.reset();
  EXPECT_THROW(folded({"a,b,c"}), Error);
  fold_.reset();
  options_.count = false;
  EXPECT_EQ(folded({"a,b,c"}), "a,b,c") << "nothing is appended";
}

TEST_F(RowFoldTest, compares_values_of_a_type) {
  add(FoldKind::min, "1:text");
  add(FoldKind::max, "1:text:z");
  add(FoldKind::max, "2:date:d");
  EXPECT_EQ(folded({"b,2024-01-01", "\"a\",", "c,2023-12-31T23:00-02:00"}),
            "\"a\",2024-01-01,c,2023-12-31T23:00-02:00");
}

TEST_F(RowFoldTest, makes_rows_of_the_keys_and_folds_of_groups) {
  options_.keys_of_group = {2, 0};
  add(FoldKind::count, "");
  add(FoldKind::sum, "2");
  EXPECT_EQ(folded({"a,1,\"x,y\"\r", "a,2,\"x,y\"\r"}), "\"x,y\",a,2,3\r");
  EXPECT_EQ(folded({"b,,"}), ",b,1,");
  options_.names_of_group = {"t", "k", "count", "sum(v,w)"};
  EXPECT_EQ(folded_header("k,\"v,w\",t\r", options_), "t,k,count,\"sum(v,w)\"\r");
}

TEST_F(RowFoldTest, makes_a_row_of_no_records) {
  options_.keys_of_group.emplace();
  add(FoldKind::count, "");
  add(FoldKind::median, "1");
  add(FoldKind::count_distinct, "1");
  std::string out;
  make_row_fold(options_)->finish(out);
  EXPECT_EQ(out, "0,,0");
}

TEST_F(RowFoldTest, finds_the_middle_of_ascending_values_and_how_many_differ) {
  options_.keys_of_group.emplace();
  add(FoldKind::median, "1");
  add(FoldKind::count_distinct, "1:number");
  EXPECT_EQ(folded({"", " 1 ", "1.0", "3"}), "1.0,2");
  EXPECT_EQ(folded({"1", "1", "2", "2"}), "1.5,2");
  EXPECT_EQ(folded({"-1", "2.5", "2.5", "1e1"}), "2.5,3");
  EXPECT_EQ(folded({"7"}), "7,1");
  EXPECT_EQ(folded({""}), ",0");
}

TEST_F(RowFoldTest, of_a_key_whose_values_are_too_long_names_it) {
  add(FoldKind::collect, "2");
  options_.most_collected_bytes = 5;
  options_.key_text = [](std::string_view row) { return std::string(row.substr(0, 1)); };
  EXPECT_EQ(folded({"a,xx", "a,yy"}), "a,xx;yy");
  try {
    folded({"b,xx", "b,yyy"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "--collect: the values of key 'b' are longer than 5 B, a sixteenth of memory_bytes: give "
        "more");
  }
}

}  // namespace
}  // namespace xxl
