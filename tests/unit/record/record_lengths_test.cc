#include "record/record_lengths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace xxl {
namespace {

// What is found in `texts`, each given in pieces of `bytes`.
RecordLengths lengths_of(const RecordSyntax& syntax, std::initializer_list<std::string_view> texts,
                         std::size_t bytes) {
  RecordLengths lengths(syntax);
  for (std::string_view text : texts) {
    for (; !text.empty(); text.remove_prefix(std::min(bytes, text.size()))) {
      lengths.add(text.substr(0, bytes));
    }
    lengths.end();
  }
  return lengths;
}

std::string counted(std::size_t bytes) {
  const auto count = static_cast<RecordCount>(bytes);
  std::string record(sizeof(count), ' ');
  std::memcpy(record.data(), &count, sizeof(count));
  return record + std::string(bytes, 'x');
}

TEST(RecordLengths, of_lines) {
  for (const std::size_t bytes : {1, 2, 3, 100}) {
    const auto lengths = lengths_of({}, {"a\n333\n\nccccc\nend!", "other\nx\n"}, bytes);
    EXPECT_EQ(lengths.first(), 1);
    EXPECT_EQ(lengths.longest(), (RecordLengths::Longest{5, 5, 4}));
  }
}

TEST(RecordLengths, of_rows_whose_fields_have_line_ends) {
  const RecordSyntax rows{.rows = true};
  for (const std::size_t bytes : {1, 2, 3, 100}) {
    const auto lengths = lengths_of(rows, {"1,\"a\nb\nc\"\n22\n"}, bytes);
    EXPECT_EQ(lengths.longest(), (RecordLengths::Longest{9, 2, 0}));
  }
  const RecordSyntax lines{.rows = true, .tolerant = true};
  EXPECT_EQ(lengths_of(lines, {"1,\"a\nb\n"}, 2).longest(), (RecordLengths::Longest{4, 1, 0}));
}

TEST(RecordLengths, of_counted_records) {
  const RecordSyntax syntax{.counted = true};
  for (const std::size_t bytes : {1, 3, 1000}) {
    const auto lengths = lengths_of(syntax, {counted(300) + counted(0) + counted(7)}, bytes);
    EXPECT_EQ(lengths.longest(), (RecordLengths::Longest{300, 7, 0}));
  }
  // The count says how long a record will be.
  EXPECT_EQ(lengths_of(syntax, {counted(1 << 20).substr(0, 10)}, 10).first(), 1 << 20);
}

TEST(RecordLengths, of_what_has_begun) {
  RecordLengths lengths({});
  lengths.add("abc\nde");
  EXPECT_EQ(lengths.begun(), 2);
  lengths.add_record(99);
  EXPECT_EQ(lengths.longest(), (RecordLengths::Longest{99, 3, 0}));
}

}  // namespace
}  // namespace xxl
