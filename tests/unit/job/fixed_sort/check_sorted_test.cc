// What is read back of a verified output of records: are they in order, and all there?
#include "job/fixed_sort/check_sorted.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "base/error.h"
#include "base/memory_region.h"
#include "sort_test_support.h"
#include "text_queue.h"

namespace xxl {
namespace {

using test::Bytes;

class CheckSorted : public testing::TestWithParam<const char*> {
 protected:
  CheckSorted() {
    options_.format = test::format_of(GetParam());
    Random random(8);
    records_ = test::sorted_records(options_.format,
                                    test::random_records(options_.format, 200000, random), true);
    sum_ = sum_of(records_);
  }

  std::size_t bytes() const { return options_.format.record_bytes; }
  MultisetHash sum_of(const Bytes& records) const {
    MultisetHash sum;
    add_records(sum, records.data(), records.size() / bytes(), bytes());
    return sum;
  }
  void check(const Bytes& records, std::size_t memory_bytes = 8 * kMiB) {
    test::TextQueue queue(test::text_of(records));
    const MemoryRegion memory(memory_bytes);
    check_sorted(options_, sum_, queue.file("out"), memory.span(), 3);
    EXPECT_EQ(queue.bytes_read(), records.size());
  }
  Error error_of(const Bytes& records) {
    try {
      check(records);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::corrupt);
      EXPECT_EQ(error.path(), "out");
      return error;
    }
    ADD_FAILURE() << "nothing was found";
    return Error(ErrorCode::usage, "");
  }

  FixedSortOptions options_;
  Bytes records_;
  MultisetHash sum_;
};

TEST_P(CheckSorted, all_records_in_order_are_right) {
  check(records_);
  check(records_, 5 * kMiB);
  check(records_, 10);
}

TEST_P(CheckSorted, no_records_are_right) {
  sum_ = {};
  check({});
}

TEST_P(CheckSorted, two_that_changed_places_are_found) {
  for (const std::size_t first :
       {std::size_t{0}, records_.size() / bytes() - 2, std::size_t{77777}}) {
    Bytes records = records_;
    const auto at = records.begin() + static_cast<std::ptrdiff_t>(first * bytes());
    std::rotate(at, at + static_cast<std::ptrdiff_t>(bytes()),
                at + static_cast<std::ptrdiff_t>(2 * bytes()));
    EXPECT_EQ(error_of(records).offset(), (first + 1) * bytes());
  }
}

TEST_P(CheckSorted, one_that_is_lost_is_found) {
  Bytes records = records_;
  const auto at = records.begin() + static_cast<std::ptrdiff_t>(5000 * bytes());
  records.erase(at, at + static_cast<std::ptrdiff_t>(bytes()));
  EXPECT_EQ(error_of(records).offset(), Error::kNoOffset);
}

TEST_P(CheckSorted, one_that_is_there_twice_is_found) {
  Bytes records = records_;
  const Bytes twice(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(bytes()));
  records.insert(records.begin(), twice.begin(), twice.end());
  EXPECT_EQ(error_of(records).offset(), Error::kNoOffset);
  options_.unique = true;
  EXPECT_EQ(error_of(records).offset(), bytes());
}

INSTANTIATE_TEST_SUITE_P(Formats, CheckSorted,
                         testing::Values("u32", "kv64", "gensort", "fixed:7"));

TEST(CheckSortedOfLongRecords, those_that_do_not_fit_are_not_read) {
  FixedSortOptions options;
  options.format = test::format_of("fixed:9000000");
  test::TextQueue queue(std::string(18000000, 'x'));
  check_sorted(options, {}, queue.file("out"), {}, 1);
  EXPECT_EQ(queue.bytes_read(), 0u);
}

}  // namespace
}  // namespace xxl
