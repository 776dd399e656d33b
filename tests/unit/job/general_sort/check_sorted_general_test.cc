// What is read back of a verified output of text: are the records in order, and all there?
#include "job/general_sort/general_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/random.h"
#include "base/units.h"
#include "record/line_keys.h"
#include "record/line_order.h"
#include "text_queue.h"

namespace xxl {
namespace {

class CheckSortedText : public testing::Test {
 protected:
  CheckSortedText() {
    Random random(9);
    for (int i = 0; i < 300000; ++i) records_.push_back(std::to_string(random.below(1u << 30)));
    std::ranges::sort(records_);
    records_.erase(std::unique(records_.begin(), records_.end()), records_.end());
    options_.threads = 2;
    for (const std::string& record : records_) add_record(sum_, record);
  }

  void check(const std::vector<std::string>& records, std::size_t memory_bytes = 64 * kMiB) {
    std::string text = header_;
    for (const std::string& record : records) text.append(record).append(1, '\n');
    test::TextQueue queue(text);
    const MemoryRegion memory(memory_bytes);
    io::File file = queue.file("out");
    check_sorted_general(options_, make_line_keys(LineOrder()), sum_, file, memory.span());
    EXPECT_EQ(queue.bytes_read(), text.size());
  }
  std::string error_of(const std::vector<std::string>& records) {
    try {
      check(records);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::corrupt);
      EXPECT_EQ(error.path(), "out");
      return error.what();
    }
    ADD_FAILURE() << "nothing was found";
    return {};
  }

  GeneralSortOptions options_;
  std::string header_;
  std::vector<std::string> records_;
  MultisetHash sum_;
};

TEST_F(CheckSortedText, all_records_in_order_are_right) {
  check(records_);
  check(records_, kMiB);
  options_.syntax.header = true;
  header_ = "zzz\n";
  check(records_);
}

TEST_F(CheckSortedText, no_records_are_right) {
  sum_ = {};
  check({});
}

TEST_F(CheckSortedText, two_that_changed_places_are_found) {
  for (const std::size_t first : {std::size_t{0}, records_.size() - 2, std::size_t{77777}}) {
    std::vector<std::string> records = records_;
    std::swap(records[first], records[first + 1]);
    EXPECT_EQ(error_of(records).find("out: record " + std::to_string(first + 2) + ","), 0u);
  }
}

TEST_F(CheckSortedText, one_that_is_lost_or_there_twice_is_found) {
  std::vector<std::string> records = records_;
  records.erase(records.begin() + 5000);
  EXPECT_NE(error_of(records).find("not the records"), std::string::npos);
  records = records_;
  records.insert(records.begin(), records.front());
  EXPECT_NE(error_of(records).find("not the records"), std::string::npos);
  options_.unique = true;
  EXPECT_NE(error_of(records).find("record 2,"), std::string::npos);
}

TEST_F(CheckSortedText, where_records_are_too_long_for_the_memory_it_ends) {
  test::TextQueue queue(std::string(9 * kMiB, 'x') + "\n" + std::string(9 * kMiB, 'a') + "\n");
  io::File file = queue.file("out");
  check_sorted_general(options_, make_line_keys(LineOrder()), sum_, file, {});
}

}  // namespace
}  // namespace xxl
