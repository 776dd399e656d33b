#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "columns/arrow_test_support.h"
#include "xxl/columns.h"

namespace xxl {
namespace {

using test::Batches;
using test::Column;
using test::Read;
using Strings = std::vector<std::optional<std::string>>;
template <class T>
using Values = std::vector<std::optional<T>>;

resources little(std::uint64_t memory_bytes = 8 << 20) {
  return resources({.memory_bytes = memory_bytes, .device = Device::cpu});
}

Read sorted(Batches& in, const column_sort_options& options, const resources& shared = little()) {
  ArrowArrayStream from, to;
  in.export_to(&from);
  sort_columns(&from, &to, options, shared);
  EXPECT_EQ(from.release, nullptr);
  EXPECT_EQ(in.released, 1);
  return test::read_all(&to);
}

std::vector<std::string> rows_of(std::vector<Column> columns, const column_sort_options& options) {
  Batches in{.batches = {test::table(std::move(columns))}};
  return sorted(in, options).rows;
}

// What sort_columns() throws.
Error error_of(Batches& in, const column_sort_options& options,
               const resources& shared = little()) {
  ArrowArrayStream from, to;
  in.export_to(&from);
  try {
    sort_columns(&from, &to, options, shared);
  } catch (const Error& error) {
    EXPECT_EQ(from.release, nullptr);
    EXPECT_EQ(in.released, 1);
    return error;
  }
  to.release(&to);
  ADD_FAILURE() << "no error";
  return Error(ErrorCode::usage, "none");
}

const column_sort_options kByA{.by = {{"a"}}};

TEST(SortColumns, numbers_with_nulls_last_and_what_goes_with_them) {
  EXPECT_EQ(rows_of({test::numbers<std::int64_t>("a", "l", {3, std::nullopt, -1, 2}),
                     test::strings("b", {"three", "null", "minus", std::nullopt})},
                    kByA),
            (std::vector<std::string>{"-1,minus", "2,-", "3,three", "-,null"}));
}

TEST(SortColumns, descending_keeps_nulls_last_unless_they_are_first) {
  const auto columns = [] {
    return std::vector<Column>{test::numbers<std::int32_t>("a", "i", {3, std::nullopt, -1})};
  };
  EXPECT_EQ(rows_of(columns(), {.by = {{.column = "a", .descending = true}}}),
            (std::vector<std::string>{"3", "-1", "-"}));
  EXPECT_EQ(rows_of(columns(), {.by = {{.column = "a", .descending = true, .nulls_first = true}}}),
            (std::vector<std::string>{"-", "3", "-1"}));
}

TEST(SortColumns, nan_is_above_all_numbers_and_zeros_are_equal) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(rows_of({test::numbers<double>("a", "g", {0.0, -nan, infinity, -0.0, nan, -infinity}),
                     test::numbers<std::int8_t>("b", "c", {1, 2, 3, 4, 5, 6})},
                    kByA),
            (std::vector<std::string>{"-inf,6", "0.000000,1", "-0.000000,4", "inf,3",
                                      std::to_string(-nan) + ",2", std::to_string(nan) + ",5"}));
}

TEST(SortColumns, strings_that_begin_alike_and_have_zeros) {
  using namespace std::string_literals;
  const Strings values{"b", "a\0b"s, "a", "", "a\0"s, "a\0\0"s, std::nullopt, "a\xff", "ab"};
  const std::vector<std::string> in_order{"", "a", "a\0"s, "a\0\0"s, "a\0b"s, "ab", "a\xff", "b"};
  auto ascending = in_order;
  ascending.push_back("-");
  auto descending = in_order;
  std::reverse(descending.begin(), descending.end());
  descending.push_back("-");
  EXPECT_EQ(rows_of({test::strings("a", values)}, kByA), ascending);
  EXPECT_EQ(rows_of({test::strings("a", values)}, {.by = {{.column = "a", .descending = true}}}),
            descending);
}

TEST(SortColumns, fixed_binary_of_no_bytes_is_a_key_that_says_whether_it_is_null) {
  const Column empty{
      .name = "a", .format = "w:0", .length = 3, .buffers = {test::bits({true, false, true}), ""}};
  const Column row = test::numbers<std::int64_t>("b", "l", {1, 2, 3});
  EXPECT_EQ(rows_of({row, empty}, kByA), (std::vector<std::string>{"1,", "3,", "2,-"}));
  EXPECT_EQ(rows_of({row, empty}, {.by = {{"b"}}}), (std::vector<std::string>{"1,", "2,-", "3,"}));
}

TEST(SortColumns, rows_of_equal_keys_stay_in_order_over_batches) {
  Batches in;
  for (int batch = 0; batch < 50; ++batch) {
    Values<std::int8_t> keys;
    Values<std::int64_t> numbers;
    for (int i = 0; i < 1000; ++i) {
      keys.emplace_back(static_cast<std::int8_t>((i * 7) % 3));
      numbers.emplace_back(batch * 1000 + i);
    }
    in.batches.push_back(test::table({test::numbers<std::int8_t>("a", "c", keys),
                                      test::numbers<std::int64_t>("b", "l", numbers)}));
  }
  const Read read = sorted(in, kByA);
  ASSERT_EQ(read.rows.size(), 50000U);
  EXPECT_TRUE(std::is_sorted(read.rows.begin(), read.rows.end(), [](const auto& a, const auto& b) {
    return a[0] != b[0] ? a[0] < b[0] : std::stoi(a.substr(2)) < std::stoi(b.substr(2));
  }));
}

TEST(SortColumns, more_than_fits_in_memory_with_rows_longer_than_blocks) {
  std::mt19937 random(1);
  Batches in;
  std::vector<std::string> wanted;
  for (int batch = 0; batch < 60; ++batch) {
    Strings keys;
    for (int i = 0; i < 40; ++i) {
      keys.emplace_back(std::string(random() % 30000, static_cast<char>('a' + random() % 26)) +
                        std::to_string(random()));
      wanted.push_back(*keys.back());
    }
    in.batches.push_back(test::table({test::strings("a", keys)}));
  }
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(sorted(in, kByA, little(12 << 20)).rows, wanted);
}

TEST(SortColumns, lists_structs_and_dictionaries_go_with_their_rows) {
  Column inner = test::table({test::strings("x", {"p", std::nullopt, "r"})});
  inner.name = "c";
  inner.nullable = true;
  inner.buffers[0] = test::bits({true, true, false});
  EXPECT_EQ(rows_of({test::numbers<std::int32_t>("a", "i", {3, 2, 1}),
                     test::lists("b", {{1, std::nullopt}, {}, {7, 8, 9}}), inner,
                     test::dictionary("d", {1, std::nullopt, 0}, {"zero", "one"})},
                    kByA),
            (std::vector<std::string>{"1,[7;8;9;],-,zero", "2,[],{-;},-", "3,[1;-;],{p;},one"}));
}

TEST(SortColumns, dictionaries_of_batches_become_one_and_sort_by_their_values) {
  Batches in{.batches = {test::table({test::dictionary("a", {0, 1, 0}, {"b", "d"})}),
                         test::table({test::dictionary("a", {1, 0, std::nullopt}, {"d", "a"})})}};
  const Read read = sorted(in, kByA);
  EXPECT_EQ(read.rows, (std::vector<std::string>{"a", "b", "b", "d", "d", "-"}));
  EXPECT_EQ(read.type.children[0].layout, Layout::dictionary);
  EXPECT_EQ(read.type.children[0].format, "c");
}

TEST(SortColumns, columns_of_nulls_may_have_a_buffer) {
  const Column nulls{
      .name = "b", .format = "n", .length = 2, .nulls = 2, .buffers = {std::nullopt}};
  EXPECT_EQ(rows_of({test::numbers<std::int32_t>("a", "i", {2, 1}), nulls}, kByA),
            (std::vector<std::string>{"1,-", "2,-"}));
}

TEST(SortColumns, ordered_dictionaries_sort_by_their_order) {
  Batches in{.batches = {test::table({test::ordered("a", {1, std::nullopt, 0}, {"lo", "hi"})}),
                         test::table({test::ordered("a", {2, 1, 0}, {"lo", "hi", "max"})})}};
  Batches again = in;
  EXPECT_EQ(sorted(in, kByA).rows, (std::vector<std::string>{"lo", "lo", "hi", "hi", "max", "-"}));
  EXPECT_EQ(sorted(again, {.by = {{.column = "a", .descending = true}}}).rows,
            (std::vector<std::string>{"max", "hi", "hi", "lo", "lo", "-"}));
}

TEST(SortColumns, ordered_dictionaries_of_batches_must_have_one_order) {
  for (const Strings& other : {Strings{"hi", "lo"}, {"lo", "mid", "hi"}, {"max"}, {"lo", "lo"}}) {
    Batches in{.batches = {test::table({test::ordered("a", {0}, {"lo", "hi"})}),
                           test::table({test::ordered("a", {0}, other)})}};
    EXPECT_THROW(sorted(in, kByA), Error);
  }
}

TEST(SortColumns, the_order_of_a_dictionary_may_be_in_the_metadata) {
  Column column = test::dictionary("a", {0, 1, 2}, {"hi", "lo", ""});
  column.metadata = test::metadata("_PL_ENUM_VALUES2", "2;lo0;2;hi1;x");
  Batches in{.batches = {test::table({column})}};
  EXPECT_EQ(sorted(in, kByA).rows, (std::vector<std::string>{"lo", "", "hi"}));
  column.dictionary = {test::strings("", {"hi", "lo", "other"})};
  in.batches = {test::table({column})};
  EXPECT_THROW(sorted(in, kByA), Error);
}

TEST(SortColumns, a_dictionary_without_an_order_is_no_key) {
  Column column = test::ordered("a", {0, 1}, {"lo", "hi"});
  column.metadata = test::metadata("xxl:no-order", "nobody knows it");
  Batches in{.batches = {test::table({column, test::numbers<std::int32_t>("b", "i", {2, 1})})}};
  Batches again = in;
  EXPECT_THROW(sorted(in, kByA), Error);
  EXPECT_EQ(sorted(again, {.by = {{"b"}}}).rows, (std::vector<std::string>{"hi,1", "lo,2"}));
}

TEST(SortColumns, a_dictionary_that_outgrows_its_indices_gets_wider_ones) {
  Batches in;
  for (int batch = 0; batch < 2; ++batch) {
    Strings values;
    Values<std::int8_t> indices;
    for (int i = 0; i < 100; ++i) {
      values.emplace_back(std::to_string(batch) + "." + std::to_string(i));
      indices.emplace_back(static_cast<std::int8_t>(i));
    }
    in.batches.push_back(test::table({test::dictionary("a", indices, values)}));
  }
  const Read read = sorted(in, kByA);
  EXPECT_EQ(read.type.children[0].format, "s");
  EXPECT_EQ(read.rows.size(), 200U);
  EXPECT_TRUE(std::is_sorted(read.rows.begin(), read.rows.end()));
}

TEST(SortColumns, slices_are_read_from_their_offsets) {
  Column column = test::numbers<std::int32_t>("a", "i", {9, 5, std::nullopt, 4, 1});
  column.offset = 1;
  column.length = 3;
  Column all = test::table({column});
  all.length = 3;
  Batches in{.batches = {all}};
  EXPECT_EQ(sorted(in, kByA).rows, (std::vector<std::string>{"4", "5", "-"}));
}

TEST(SortColumns, unique_keeps_the_first_and_limit_the_lowest) {
  const auto columns = [] {
    return std::vector<Column>{test::numbers<std::int8_t>("a", "c", {2, 1, 2, 1, 3}),
                               test::strings("b", {"p", "q", "r", "s", "t"})};
  };
  EXPECT_EQ(rows_of(columns(), {.by = {{"a"}}, .unique = true}),
            (std::vector<std::string>{"1,q", "2,p", "3,t"}));
  EXPECT_EQ(rows_of(columns(), {.by = {{"a"}}, .limit = 3}),
            (std::vector<std::string>{"1,q", "1,s", "2,p"}));
  EXPECT_EQ(rows_of(columns(), {.by = {{"a"}}, .limit = 0}), std::vector<std::string>());
  EXPECT_EQ(rows_of(columns(), {.by = {{"a"}}, .skip = 1, .limit = 2}),
            (std::vector<std::string>{"1,s", "2,p"}));
}

TEST(SortColumns, no_rows_give_the_schema_alone) {
  Batches in{.batches = {test::table({test::numbers<std::int32_t>("a", "i", {})})}};
  const Read read = sorted(in, kByA);
  EXPECT_TRUE(read.rows.empty());
  EXPECT_EQ(read.type.children[0].name, "a");
}

TEST(SortColumns, a_stream_that_is_given_up_ends_the_sort) {
  Values<std::int64_t> values;
  for (int i = 0; i < 100000; ++i) values.emplace_back(i * 7919 % 100003);
  Batches in;
  for (int batch = 0; batch < 20; ++batch) {
    in.batches.push_back(test::table({test::numbers<std::int64_t>("a", "l", values)}));
  }
  ArrowArrayStream from, to;
  in.export_to(&from);
  sort_columns(&from, &to, kByA, little());
  ArrowArray array;
  ASSERT_EQ(to.get_next(&to, &array), 0);
  array.release(&array);
  to.release(&to);
}

TEST(SortColumns, batches_outlive_the_stream) {
  Batches in{.batches = {test::table({test::dictionary("a", {1, 0}, {"x", "y"})})}};
  ArrowArrayStream from, to;
  in.export_to(&from);
  sort_columns(&from, &to, kByA, little());
  ArrowSchema schema;
  ArrowArray array;
  ASSERT_EQ(to.get_schema(&to, &schema), 0);
  ASSERT_EQ(to.get_next(&to, &array), 0);
  to.release(&to);
  const ColumnType type = table_type(schema);
  schema.release(&schema);
  EXPECT_EQ(test::value_text(view_of(type, array, "").children[0], 0), "x");
  // A child may be taken out, too.
  ArrowArray child = *array.children[0];
  array.children[0]->release = nullptr;
  array.release(&array);
  child.release(&child);
}

// --- errors ---

TEST(SortColumns, columns_that_are_not_there_or_have_no_order_are_refused_by_name) {
  Batches in{.batches = {test::table(
                 {test::numbers<std::int32_t>("a", "i", {1}), test::lists("b", {{1}})})}};
  EXPECT_STREQ(error_of(in, {.by = {{"c"}}}).what(), "the table has no column \"c\"; it has a, b");
  in.released = 0;
  EXPECT_STREQ(error_of(in, {.by = {{"b"}}}).what(),
               "column b: values of the type list have no order");
  in.released = 0;
  EXPECT_STREQ(error_of(in, {}).what(), "there is no column to sort by");
}

TEST(SortColumns, types_that_are_not_supported_are_refused_by_name) {
  Column column = test::numbers<std::int32_t>("a", "i", {1});
  Column odd = column;
  odd.name = "b";
  odd.format = "+ud:0,1";
  Batches in{.batches = {test::table({column, odd})}};
  EXPECT_STREQ(error_of(in, kByA).what(), "column b: the type dense union is not supported");
}

TEST(SortColumns, a_failure_of_the_input_is_told_with_its_words) {
  Batches in{.batches = {test::table({test::numbers<std::int32_t>("a", "i", {1, 2})})},
             .error = ENOSPC};
  const Error error = error_of(in, kByA);
  EXPECT_EQ(error.sys_errno(), ENOSPC);
  EXPECT_STREQ(error.what(),
               "the input failed after 2 rows: the disk is on fire: No space left on device");
}

TEST(SortColumns, a_null_where_the_type_has_none_is_an_error) {
  for (const char* const by : {"a", "b"}) {
    Column with = test::numbers<std::int32_t>("a", "i", {1, std::nullopt});
    with.nullable = false;
    Batches in{.batches = {test::table({with, test::numbers<std::int32_t>("b", "i", {1, 2})})}};
    EXPECT_EQ(error_of(in, {.by = {{by}}}).code(), ErrorCode::bad_input);
  }
}

TEST(SortColumns, a_null_in_a_dictionary_where_the_types_have_none_is_an_error) {
  for (const char* const by : {"a", "b"}) {
    Column with = test::dictionary("a", {0, 1}, {"x", std::nullopt});
    with.nullable = false;
    with.buffers[0].reset();
    with.dictionary[0].nullable = false;
    Batches in{.batches = {test::table({with, test::numbers<std::int32_t>("b", "i", {1, 2})})}};
    EXPECT_EQ(error_of(in, {.by = {{by}}}).code(), ErrorCode::bad_input);
  }
}

TEST(SortColumns, a_batch_that_is_too_large_for_the_memory_is_an_error_that_says_what_would_do) {
  Batches in{.batches = {test::table({test::strings("a", {std::string(5 << 20, 'x')})})}};
  const Error error = error_of(in, kByA);
  EXPECT_EQ(error.code(), ErrorCode::no_space);
  EXPECT_NE(std::string(error.what()).find("give at least"), std::string::npos) << error.what();
}

TEST(SortColumns, what_on_batch_throws_ends_the_sort) {
  Batches in{.batches = {test::table({test::numbers<std::int32_t>("a", "i", {1, 2})})}};
  column_sort_options options = kByA;
  options.on_batch = [](std::uint64_t rows) {
    throw Error(ErrorCode::usage, "stopped at " + std::to_string(rows));
  };
  EXPECT_STREQ(error_of(in, options).what(), "stopped at 2");
}

TEST(SortColumns, progress_has_a_total_while_batches_are_read) {
  Batches in;
  for (int batch = 0; batch < 100; ++batch) {
    in.batches.push_back(test::table({test::strings("a", Strings(100, std::string(1000, 'x')))}));
  }
  Progress progress;
  column_sort_options options = kByA;
  options.progress = &progress;
  options.expected_rows = 100 * 100;
  std::vector<std::uint64_t> done;
  options.on_batch = [&](std::uint64_t) {
    EXPECT_EQ(progress.phase, Phase::forming_runs);
    done.push_back(progress.phase_bytes_done);
    EXPECT_LE(done.back(), progress.phase_bytes_total);
    if (done.back() > 0) {
      EXPECT_NEAR(static_cast<double>(progress.phase_bytes_total), 10e6, 0.2e6);
    }
  };
  EXPECT_EQ(sorted(in, options).rows.size(), 10000U);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  ASSERT_FALSE(done.empty());
  EXPECT_GT(done.back(), 5'000'000U);
}

// Arrays that are not what their schema says: an error, whatever is wrong.
TEST(SortColumns, arrays_that_are_not_valid_are_refused) {
  const auto columns = [] {
    return test::table({test::strings("a", {"x", "yy", "zzz"}), test::lists("b", {{1}, {2, 3}, {}}),
                        test::dictionary("c", {0, 1, 0}, {"p", "q"})});
  };
  const std::vector<std::function<void(ArrowArray&)>> changes{
      [](ArrowArray& array) { array.length = -1; },
      [](ArrowArray& array) { array.offset = -1; },
      [](ArrowArray& array) { array.offset = std::numeric_limits<std::int64_t>::max(); },
      [](ArrowArray& array) { array.length = std::numeric_limits<std::int64_t>::max(); },
      [](ArrowArray& array) { array.length = 4; },
      [](ArrowArray& array) { array.n_children = 2; },
      [](ArrowArray& array) { array.n_children = 0; },
      [](ArrowArray& array) { array.children = nullptr; },
      [](ArrowArray& array) { array.n_children = -1; },
      [](ArrowArray& array) { array.children[0] = nullptr; },
      [](ArrowArray& array) { array.n_buffers = -1; },
      [](ArrowArray& array) { array.n_buffers = 2; },
      [](ArrowArray& array) { array.children[0]->n_buffers = 2; },
      [](ArrowArray& array) { array.children[0]->buffers = nullptr; },
      [](ArrowArray& array) { array.children[0]->length = 2; },
      [](ArrowArray& array) { array.children[0]->length = -5; },
      [](ArrowArray& array) { array.children[0]->buffers[1] = nullptr; },
      [](ArrowArray& array) { array.children[0]->buffers[2] = nullptr; },
      [](ArrowArray& array) {  // also where all values are empty
        static const std::int32_t kOffsets[] = {2, 2, 2, 2};
        array.children[0]->buffers[1] = kOffsets;
        array.children[0]->buffers[2] = nullptr;
      },
      [](ArrowArray& array) {
        static const std::int32_t kOffsets[] = {0, 3, 2, 6};
        array.children[0]->buffers[1] = kOffsets;
      },
      [](ArrowArray& array) {
        static const std::int32_t kOffsets[] = {-1, 1, 2, 3};
        array.children[0]->buffers[1] = kOffsets;
      },
      [](ArrowArray& array) {
        static const std::int32_t kOffsets[] = {0, 1, 2, 4};  // of 3 values
        array.children[1]->buffers[1] = kOffsets;
      },
      [](ArrowArray& array) { array.children[1]->children[0]->length = 1; },
      [](ArrowArray& array) { array.children[1]->n_children = 0; },
      [](ArrowArray& array) {
        static const std::int8_t kIndices[] = {0, 2, 0};
        array.children[2]->buffers[1] = kIndices;
      },
      [](ArrowArray& array) {
        static const std::int8_t kIndices[] = {0, -1, 0};
        array.children[2]->buffers[1] = kIndices;
      },
      [](ArrowArray& array) { array.children[2]->dictionary->length = 1; },
      [](ArrowArray& array) { array.children[0]->dictionary = array.children[1]; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    ArrowArrayStream from, to;
    Batches in{.batches = {columns()}, .change = changes[i]};
    in.export_to(&from);
    EXPECT_THROW(
        {
          try {
            sort_columns(&from, &to, kByA, little());
          } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::bad_input) << i << ": " << error.what();
            throw;
          }
        },
        Error)
        << "change " << i;
  }
}

TEST(SortColumns, schemas_that_are_not_valid_are_refused) {
  const std::vector<std::function<void(ArrowSchema&)>> changes{
      [](ArrowSchema& schema) { schema.format = nullptr; },
      [](ArrowSchema& schema) { schema.children = nullptr; },
      [](ArrowSchema& schema) { schema.n_children = -1; },
      [](ArrowSchema& schema) { schema.children[0]->format = nullptr; },
      [](ArrowSchema& schema) { schema.children[0]->format = "\xff"; },
      [](ArrowSchema& schema) { schema.children[1]->children = nullptr; },
      [](ArrowSchema& schema) { schema.children[1]->n_children = 0; },
      [](ArrowSchema& schema) { schema.children[1]->children[0] = nullptr; },
      [](ArrowSchema& schema) { schema.children[2]->format = "u"; },
      [](ArrowSchema& schema) { schema.children[2]->dictionary->format = "?"; },
      [](ArrowSchema& schema) { schema.children[0]->dictionary = schema.children[1]; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    ArrowArrayStream from, to;
    Batches in{.batches = {test::table({test::strings("a", {"x"}), test::lists("b", {{1}}),
                                        test::dictionary("c", {0}, {"p"})})},
               .change_schema = changes[i]};
    in.export_to(&from);
    EXPECT_THROW(sort_columns(&from, &to, kByA, little()), Error) << "change " << i;
  }
}

}  // namespace
}  // namespace xxl
