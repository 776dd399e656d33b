// Groups of records that are kept, in memory and beyond it.
#include "join/group_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/random.h"
#include "base/units.h"

namespace xxl {
namespace {

using Records = std::vector<std::string>;

Records records_of(GroupStore& store) {
  Records records;
  store.for_each([&](std::string_view record) { records.emplace_back(record); });
  return records;
}

Records random_records(std::size_t count, std::size_t longest, std::uint64_t seed) {
  Random random(seed);
  Records records;
  for (std::size_t i = 0; i < count; ++i) {
    records.emplace_back(random.below(longest + 1), static_cast<char>('a' + random.below(26)));
  }
  return records;
}

class GroupStoreTest : public ::testing::Test {
 protected:
  GroupStore make(std::size_t bytes) {
    memory_ = MemoryRegion(bytes);
    return GroupStore(memory_.span().first(bytes), ::testing::TempDir());
  }

  MemoryRegion memory_;
};

TEST_F(GroupStoreTest, an_empty_store_has_no_records) {
  GroupStore store = make(2 * kSectorBytes);
  EXPECT_EQ(records_of(store), Records{});
  EXPECT_EQ(store.records(), 0u);
}

TEST_F(GroupStoreTest, what_fits_stays_in_memory_and_can_be_read_again_and_again) {
  GroupStore store = make(16 * kKiB);
  const Records records = random_records(100, 100, 1);
  for (const std::string& record : records) store.append(record);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(records_of(store), records);
  EXPECT_EQ(store.records(), 100u);
  EXPECT_EQ(store.spilled_bytes(), 0u);
}

TEST_F(GroupStoreTest, both_halves_of_the_memory_are_used_before_anything_is_written) {
  GroupStore store = make(2 * kSectorBytes);
  const std::string record(kSectorBytes / 2 - 2, 'x');  // two in a half, with their lengths
  for (int i = 0; i < 4; ++i) store.append(record);
  EXPECT_EQ(store.spilled_bytes(), 0u);
  store.append(record);
  EXPECT_EQ(store.spilled_bytes(), 2 * kSectorBytes);
  EXPECT_EQ(records_of(store), Records(5, record));
}

TEST_F(GroupStoreTest, what_does_not_fit_goes_to_a_file_and_keeps_its_order) {
  GroupStore store = make(16 * kKiB);
  const Records records = random_records(5000, 100, 2);
  for (const std::string& record : records) store.append(record);
  EXPECT_GT(store.spilled_bytes(), 200 * kKiB);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(records_of(store), records);
}

TEST_F(GroupStoreTest, records_that_are_longer_than_the_memory_are_kept_too) {
  GroupStore store = make(2 * kSectorBytes);
  Records records = random_records(20, 3000, 3);
  records.insert(records.begin() + 5, std::string(100'000, 'l'));
  records.insert(records.begin() + 6, std::string(30'000, 'm'));
  records.insert(records.begin() + 15, std::string(200'000, 'n'));
  for (const std::string& record : records) store.append(record);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(records_of(store), records);
}

TEST_F(GroupStoreTest, a_cleared_store_takes_the_next_group_and_its_file_is_used_again) {
  GroupStore store = make(8 * kKiB);
  std::uint64_t file_bytes = 0;
  for (std::uint64_t group = 0; group < 5; ++group) {
    store.clear();
    EXPECT_EQ(records_of(store), Records{});
    const Records records = random_records(group % 2 == 0 ? 2000 : 3, 50, 10 + group);
    for (const std::string& record : records) store.append(record);
    EXPECT_EQ(records_of(store), records);
    EXPECT_EQ(store.records(), records.size());
    if (group == 0) file_bytes = store.file_bytes();
  }
  EXPECT_LT(store.file_bytes(), 2 * file_bytes);
  EXPECT_GT(store.spilled_bytes(), 2 * file_bytes);
}

TEST_F(GroupStoreTest, a_directory_that_is_not_there_is_an_error_when_it_is_needed) {
  const MemoryRegion memory(2 * kSectorBytes);
  GroupStore store(memory.span(), "/nowhere");
  for (int i = 0; i < 2; ++i) store.append(std::string(3000, 'x'));
  EXPECT_THROW(store.append(std::string(3000, 'x')), Error);
}

}  // namespace
}  // namespace xxl
