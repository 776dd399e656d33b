#include "job/join/file_chain.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/random.h"
#include "base/units.h"
#include "io_test_support.h"
#include "simulated_queue.h"
#include "watchdog.h"

namespace xxl {
namespace {

using Records = std::vector<std::string>;

constexpr std::size_t kBudget = kMiB;  // for records that lie in several buffers

class FileChainTest : public testing::Test {
 protected:
  Inputs inputs_of(const Records& texts) {
    std::vector<std::string> paths;
    for (const std::string& text : texts) {
      paths.push_back(directory_ / std::to_string(paths.size()));
      io::test::write_file(paths.back(), text);
    }
    return open_inputs(paths, 1, Recognize::nothing);
  }

  std::unique_ptr<FileCursor> cursor_of(io::File& file) {
    return std::make_unique<FileCursor>(file, options_, memory_.span(), budget_, io_, monitor_,
                                        hash_, log_);
  }

  // The records of files of these texts; `headers`: of each file, as "0: header".
  Records chained(const Records& texts, Records* headers = nullptr) {
    Inputs inputs = inputs_of(texts);
    FileChain::OnHeader on_header;
    if (headers != nullptr) {
      on_header = [headers](std::size_t file, std::string_view header) {
        headers->push_back(std::to_string(file) + ": " + std::string(header));
      };
    }
    FileChain chain(
        inputs, [this](io::File& file) { return cursor_of(file); }, on_header);
    Records records;
    while (chain.advance()) records.emplace_back(chain.record());
    EXPECT_FALSE(chain.advance()) << "the end stays the end";
    return records;
  }

  test::Watchdog watchdog_;
  io::test::TempDirectory directory_;
  GeneralSortOptions options_;
  const MemoryRegion memory_{2 * kSectorBytes};  // of which half is a buffer
  std::size_t budget_ = kBudget;
  Monitor monitor_;
  MultisetHash hash_;
  RowFaultLog log_{options_};
  io::IoService io_{test::simulated_queues(1)};
};

TEST_F(FileChainTest, records_come_file_after_file) {
  EXPECT_EQ(chained({"b\na\n", "c\n"}), (Records{"b", "a", "c"}));
}

TEST_F(FileChainTest, empty_files_have_none) {
  EXPECT_EQ(chained({"", "a\n", "", "", "b\n", ""}), (Records{"a", "b"}));
  EXPECT_EQ(chained({"", ""}), Records());
}

TEST_F(FileChainTest, a_last_line_without_its_end_is_no_part_of_the_next_file) {
  EXPECT_EQ(chained({"a", "b", "\n"}), (Records{"a", "b", ""}));
}

TEST_F(FileChainTest, each_file_has_a_header) {
  Records headers;
  EXPECT_EQ(chained({"h\na\n", "", "h\n", "i\nb\n"}, &headers), (Records{"a", "b"}));
  EXPECT_EQ(headers, (Records{"0: h", "2: h", "3: i"}));
}

TEST_F(FileChainTest, one_cursor_is_there_at_a_time) {
  Inputs inputs = inputs_of({"a\n", "", "b\n"});
  std::size_t opened = 0;
  FileChain chain(inputs,
                  [&](io::File& file) {
                    for (const io::File& other : inputs.files)
                      EXPECT_TRUE(&other == &file || !other.is_open());
                    ++opened;
                    return cursor_of(file);
                  },
                  {});
  EXPECT_EQ(opened, 1);
  EXPECT_TRUE(chain.advance());
  EXPECT_EQ(opened, 1) << "the next file is opened when it is needed";
  EXPECT_TRUE(chain.advance());
  EXPECT_EQ(opened, 3);
}

TEST_F(FileChainTest, records_longer_than_buffers_are_whole) {
  Random random(5);
  Records texts(4), expected;
  for (std::string& text : texts) {
    for (std::size_t i = random.below(30); i > 0; --i) {
      expected.emplace_back(random.below(3 * kSectorBytes), static_cast<char>('a' + i % 26));
      text += expected.back() + "\n";
    }
  }
  EXPECT_EQ(chained(texts), expected);
  EXPECT_EQ(budget_, kBudget) << "is given back";
  MultisetHash all;
  for (const std::string& record : expected) add_record(all, record);
  EXPECT_EQ(hash_, all);
}

TEST_F(FileChainTest, what_is_held_outlives_its_file) {
  Inputs inputs = inputs_of({"kept\n", "next\n"});
  FileChain chain(inputs, [this](io::File& file) { return cursor_of(file); }, {});
  ASSERT_TRUE(chain.advance());
  const std::shared_ptr<const void> held = chain.hold();
  const std::string_view record = chain.record();
  ASSERT_TRUE(chain.advance());
  EXPECT_EQ(chain.record(), "next");
  EXPECT_EQ(record, "kept");
}

TEST_F(FileChainTest, a_fault_is_of_the_file_and_the_line) {
  Inputs inputs = inputs_of({"a\n", "b\nc\n"});
  FileChain chain(inputs, [this](io::File& file) { return cursor_of(file); }, {});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(chain.advance());
  try {
    chain.fail("is not in order");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_EQ(error.path(), directory_ / "1");
    EXPECT_EQ(error.offset(), 2);
    EXPECT_NE(std::string(error.what()).find("line 2: is not in order"), std::string::npos);
  }
}

}  // namespace
}  // namespace xxl
