// Files as runs: those in scratch have sums by which their blocks are known again.
#include "run/file_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "io_test_support.h"
#include "record/record_format.h"

namespace xxl {
namespace {

constexpr std::size_t kBlockBytes = 4 * kSectorBytes;
constexpr std::size_t kRecordBytes = 100;

// Sorted gensort records.
std::vector<std::byte> make_records(std::size_t count) {
  std::vector<std::byte> records(count * kRecordBytes);
  for (std::size_t i = 0; i < count; ++i) {
    records[i * kRecordBytes] = static_cast<std::byte>(i / 256);
    records[i * kRecordBytes + 1] = static_cast<std::byte>(i % 256);
  }
  return records;
}

TEST(FileRunSums, do_not_depend_on_how_the_records_come) {
  const std::vector<std::byte> records = make_records(1000);
  FileRunSums whole(kRecordBytes, kBlockBytes);
  whole.add(records);
  EXPECT_EQ(whole.sums().size(), (1000 + 80) / 81);  // two sectors of a block are left free
  for (const std::size_t step : {1, 7, 99, 100, 101, 5000}) {
    FileRunSums cut(kRecordBytes, kBlockBytes);
    for (std::size_t at = 0; at < records.size(); at += step) {
      cut.add(std::span(records).subspan(at, std::min(step, records.size() - at)));
    }
    EXPECT_EQ(cut.sums(), whole.sums());
  }
}

TEST(FileRunSums, tell_a_block_that_is_not_the_one_that_was_written) {
  const KeyLayout layout(parse_record_format("gensort"));
  std::vector<std::byte> records = make_records(81);
  FileRunSums sums(kRecordBytes, kBlockBytes);
  sums.add(records);
  const io::test::TempDirectory directory;
  io::test::write_file(directory / "run",
                       {reinterpret_cast<const char*>(records.data()), records.size()});
  const auto file = std::make_shared<io::File>(io::File::open_input(directory / "run"));
  const xxl::Run run = open_file_run(file, 0, 81, layout, kBlockBytes, sums.sums());
  EXPECT_EQ(check_file_block(run, layout, 0, records.data()).records, 81);
  records[50 * kRecordBytes + 60] ^= std::byte{1};  // no key, so the order is right
  EXPECT_THROW(check_file_block(run, layout, 0, records.data()), Error);
  const xxl::Run without = open_file_run(file, 0, 81, layout, kBlockBytes);
  EXPECT_NO_THROW(check_file_block(without, layout, 0, records.data()));
}

}  // namespace
}  // namespace xxl
