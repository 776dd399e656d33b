#include "io/scratch_store.h"
#include "io/transfer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/units.h"

namespace xxl::io {
namespace {

constexpr std::size_t kBlock = 64 * kKiB;

// Disks of the sizes that a test wants, each a device of its own unless it says otherwise. The
// files behind them stay empty.
class PlayedSpace : public ScratchSpace {
 public:
  explicit PlayedSpace(const std::vector<std::uint64_t>& free_blocks) {
    for (const std::uint64_t blocks : free_blocks) free_.push_back(blocks * kBlock);
    for (unsigned d = 0; d < free_.size(); ++d) device_of_.push_back(d);
  }

  dev_t device(unsigned disk, const File&) const override { return device_of_[disk]; }
  unsigned files(const File&) const override { return 1; }
  std::uint64_t free_bytes(unsigned disk, const std::string&) const override {
    return free_[device_of_[disk]];
  }
  void reserve(unsigned disk, File& file, std::uint64_t offset, std::uint64_t bytes) override {
    EXPECT_EQ(offset, reserved_[disk]);
    ++calls_;
    if (broken_) throw Error(ErrorCode::io, "cannot reserve space", file.path(), offset, EIO);
    if (reserved_[disk] + bytes > quota_) {
      throw Error(ErrorCode::no_space, "cannot reserve space", "played", offset, EDQUOT);
    }
    free_[device_of_[disk]] -= bytes;
    reserved_[disk] += bytes;
  }
  bool gives_back_soon(const File&) const override { return gives_back_soon_; }
  bool give_back(unsigned disk, File&, std::uint64_t offset, std::uint64_t bytes) override {
    for (std::uint64_t at = offset; at < offset + bytes; at += kBlock) {
      EXPECT_TRUE(given_back_[disk].insert(at).second) << at;
    }
    return can_give_back_;
  }

  std::map<unsigned, std::set<std::uint64_t>> given_back_;  // blocks
  bool can_give_back_ = true;
  bool gives_back_soon_ = true;
  std::vector<std::uint64_t> free_;
  std::vector<unsigned> device_of_;
  std::map<unsigned, std::uint64_t> reserved_;
  std::uint64_t quota_ = ~std::uint64_t{0};
  bool broken_ = false;
  int calls_ = 0;
};

constexpr std::uint64_t kPlenty = 1 << 20;

class ScratchStoreTest : public testing::Test {
 protected:
  // Of disks with so many free blocks each.
  void make(const std::vector<std::uint64_t>& free_blocks, const std::vector<double>& weights = {},
            const std::vector<unsigned>& device_of = {}) {
    auto space = std::make_unique<PlayedSpace>(free_blocks);
    if (!device_of.empty()) space->device_of_ = device_of;
    space_ = space.get();
    const std::string directory = testing::TempDir();
    store_ = std::make_unique<ScratchStore>(std::vector<std::string>(free_blocks.size(), directory),
                                            kBlock, 1, weights, std::move(space));
  }

  std::vector<ScratchPlace> allocate_run(unsigned blocks) {
    ScratchStripe stripe = store_->new_stripe();
    std::vector<ScratchPlace> places;
    for (unsigned i = 0; i < blocks; ++i) places.push_back(store_->allocate(stripe));
    return places;
  }

  std::vector<ScratchPlace> half_of_a_disk() {
    make({kPlenty});
    store_->reserve(100 * kBlock);
    return allocate_run(50);
  }

  std::uint64_t blocks_on(unsigned disk) const { return store_->allocated_bytes(disk) / kBlock; }

  PlayedSpace* space_ = nullptr;
  std::unique_ptr<ScratchStore> store_;
};

TEST_F(ScratchStoreTest, every_run_is_dealt_to_the_disks_in_turn) {
  make({kPlenty, kPlenty, kPlenty, kPlenty});
  store_->reserve(1000 * kBlock);
  for (int run = 0; run < 10; ++run) {
    const std::vector<ScratchPlace> places = allocate_run(40);
    std::set<unsigned> first_turn;
    for (unsigned i = 0; i < 4; ++i) first_turn.insert(places[i].disk);
    EXPECT_EQ(first_turn.size(), 4u);
    for (unsigned i = 4; i < 40; ++i) EXPECT_EQ(places[i].disk, places[i - 4].disk);
  }
  for (unsigned d = 0; d < 4; ++d) EXPECT_EQ(blocks_on(d), 100u);
}

TEST_F(ScratchStoreTest, every_run_has_its_own_permutation_all_equally_likely) {
  make({kPlenty, kPlenty, kPlenty});
  store_->reserve(3 * 600 * kBlock);
  std::map<std::vector<unsigned>, int> seen;
  for (int run = 0; run < 600; ++run) {
    std::vector<unsigned> permutation;
    for (const ScratchPlace place : allocate_run(3)) permutation.push_back(place.disk);
    ++seen[permutation];
  }
  ASSERT_EQ(seen.size(), 6u);
  for (const auto& [permutation, times] : seen) EXPECT_NEAR(times, 100, 40);
}

TEST_F(ScratchStoreTest, slots_of_a_disk_ascend_and_no_place_is_given_twice) {
  make({kPlenty, kPlenty});
  store_->reserve(20000 * kBlock);
  std::vector<std::uint64_t> next(2, 0);
  for (int run = 0; run < 100; ++run) {
    for (const ScratchPlace place : allocate_run(200)) {
      EXPECT_EQ(place.slot, next[place.disk]++);
      EXPECT_EQ(store_->offset(place), place.slot * kBlock);
    }
  }
}

TEST_F(ScratchStoreTest, freed_places_are_used_again_lowest_first) {
  make({kPlenty});
  store_->reserve(10000 * kBlock);
  const std::vector<ScratchPlace> places = allocate_run(9000);
  for (const unsigned i : {8999u, 70u, 5000u, 3u}) store_->release(places[i]);
  EXPECT_EQ(store_->bytes_in_use(), 8996 * kBlock);
  std::vector<std::uint32_t> slots;
  for (const ScratchPlace place : allocate_run(5)) slots.push_back(place.slot);
  EXPECT_EQ(slots, (std::vector<std::uint32_t>{3, 70, 5000, 8999, 9000}));
  EXPECT_EQ(store_->bytes_in_use(), 9001 * kBlock);
  EXPECT_EQ(store_->peak_bytes(), 9001 * kBlock);
  EXPECT_EQ(store_->allocated_bytes(0), 9005 * kBlock);
}

TEST_F(ScratchStoreTest, space_is_reserved_evenly_and_only_what_is_missing) {
  make({kPlenty, kPlenty, kPlenty});
  store_->reserve(90 * kBlock);
  store_->reserve(30 * kBlock);
  for (unsigned d = 0; d < 3; ++d) EXPECT_EQ(space_->reserved_[d], 30 * kBlock);
  store_->reserve(120 * kBlock - 1);
  for (unsigned d = 0; d < 3; ++d) EXPECT_EQ(space_->reserved_[d], 40 * kBlock);
  EXPECT_EQ(store_->reserved_bytes(), 120 * kBlock);
}

TEST_F(ScratchStoreTest, a_small_disk_is_filled_and_the_others_take_the_rest) {
  make({kPlenty, 10, kPlenty});
  store_->reserve(100 * kBlock);
  EXPECT_EQ(space_->reserved_[1], 10 * kBlock);
  const std::vector<ScratchPlace> places = allocate_run(100);
  std::set<std::pair<unsigned, unsigned>> distinct;
  for (const ScratchPlace place : places) distinct.emplace(place.disk, place.slot);
  EXPECT_EQ(distinct.size(), 100u);
  EXPECT_EQ(blocks_on(1), 10u);
  EXPECT_EQ(blocks_on(0) + blocks_on(2), 90u);
}

TEST_F(ScratchStoreTest, a_full_disk_is_skipped_for_the_next_of_the_permutation) {
  make({kPlenty, 2, kPlenty});
  store_->reserve(12 * kBlock);
  ScratchStripe stripe = store_->new_stripe();
  std::vector<unsigned> disks;
  for (int i = 0; i < 9; ++i) disks.push_back(store_->allocate(stripe).disk);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(disks[3 + i], disks[i]);
    EXPECT_EQ(disks[6 + i], disks[i] == 1 ? disks[(i + 1) % 3] : disks[i]);
  }
}

TEST_F(ScratchStoreTest, directories_of_one_device_share_its_space) {
  make({50, 50, 50}, {}, {0, 0, 2});
  EXPECT_THROW(store_->reserve(101 * kBlock), Error);
  EXPECT_EQ(space_->calls_, 0);
  store_->reserve(100 * kBlock);
  EXPECT_EQ(space_->reserved_[0] + space_->reserved_[1], 50 * kBlock);
  EXPECT_EQ(space_->reserved_[2], 50 * kBlock);
}

TEST_F(ScratchStoreTest, a_disk_of_twice_the_speed_gets_twice_the_blocks) {
  make({kPlenty, kPlenty, kPlenty}, {500, 1000, 250});
  store_->reserve(7 * 100 * kBlock);
  for (int run = 0; run < 10; ++run) allocate_run(70);
  EXPECT_EQ(blocks_on(0), 200u);
  EXPECT_EQ(blocks_on(1), 400u);
  EXPECT_EQ(blocks_on(2), 100u);
  EXPECT_EQ(space_->reserved_[1], 400 * kBlock);
}

TEST_F(ScratchStoreTest, without_reserve_space_grows_from_little_in_larger_and_larger_steps) {
  make({kPlenty});
  allocate_run(1);
  EXPECT_EQ(store_->reserved_bytes(), ScratchStore::kMinGrowBytes);
  allocate_run(ScratchStore::kMaxGrowBytes * 4 / kBlock);
  EXPECT_LE(store_->reserved_bytes(), ScratchStore::kMaxGrowBytes * 9 / 2);
  EXPECT_LT(space_->calls_, 60);
}

TEST_F(ScratchStoreTest, without_reserve_less_is_asked_for_after_a_refusal) {
  make({kPlenty});
  space_->quota_ = 1001 * kBlock;
  EXPECT_EQ(allocate_run(1001).size(), 1001U);
  EXPECT_THROW(allocate_run(1), Error);
}

TEST_F(ScratchStoreTest, without_reserve_space_grows_to_the_last_block) {
  const unsigned step = ScratchStore::kMaxGrowBytes / kBlock;
  make({step, step / 2});
  const std::vector<ScratchPlace> places = allocate_run(step + step / 2);
  EXPECT_EQ(places.size(), store_->reserved_bytes() / kBlock);
  EXPECT_THROW(allocate_run(1), Error);
  store_->release(places[7]);
  EXPECT_EQ(allocate_run(1).front(), places[7]);
}

TEST_F(ScratchStoreTest, too_little_space_is_told_at_once_with_every_directory) {
  make({3 * 16, 5 * 16});
  try {
    store_->reserve(100 * kMiB);
    FAIL() << "must throw";
  } catch (const Error& error) {
    const std::string directory = testing::TempDir();
    EXPECT_EQ(error.code(), ErrorCode::no_space);
    const std::string text = error.what();
    EXPECT_NE(text.find("100 MiB needed; free: "), std::string::npos) << text;
    EXPECT_NE(text.find("3 MiB in " + directory), std::string::npos) << text;
    EXPECT_NE(text.find("5 MiB in " + directory), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }
  EXPECT_EQ(space_->calls_, 0);
}

TEST_F(ScratchStoreTest, a_refusal_of_the_file_system_moves_blocks_to_other_disks) {
  make({kPlenty, 20});
  space_->quota_ = 60 * kBlock;
  store_->reserve(75 * kBlock);
  EXPECT_EQ(store_->reserved_bytes(), 75 * kBlock);
  EXPECT_LE(space_->reserved_[0], 60 * kBlock);
  try {
    store_->reserve(90 * kBlock);
    FAIL() << "must throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_space);
    EXPECT_NE(std::string(error.what()).find("played: "), std::string::npos) << error.what();
  }
}

TEST_F(ScratchStoreTest, other_errors_of_reserving_pass_through) {
  make({kPlenty});
  space_->broken_ = true;
  try {
    store_->reserve(kBlock);
    FAIL() << "must throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_EQ(error.sys_errno(), EIO);
  }
}

TEST_F(ScratchStoreTest, releasing_twice_is_caught) {
  make({kPlenty});
  const ScratchPlace place = allocate_run(1).front();
  store_->release(place);
  EXPECT_DEATH(store_->release(place), "contains");
}

TEST(ScratchStoreFiles, blocks_are_kept_in_files_without_a_name) {
  const std::filesystem::path directory =
      std::filesystem::path(testing::TempDir()) / "xxl_scratch_store_test";
  std::filesystem::create_directory(directory);
  {
    ScratchStore store({directory, directory}, kBlock, 7);
    store.reserve(8 * kBlock);
    EXPECT_TRUE(std::filesystem::is_empty(directory));
    ScratchStripe stripe = store.new_stripe();
    std::vector<ScratchPlace> places;
    struct alignas(kSectorBytes) Sector {
      std::byte bytes[kSectorBytes];
    };
    Sector sector;
    for (int i = 0; i < 8; ++i) {
      places.push_back(store.allocate(stripe));
      std::ranges::fill(sector.bytes, static_cast<std::byte>(i));
      io::write_at(store.file(places.back()), store.offset(places.back()), sector.bytes);
    }
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(io::read_at(store.file(places[i]), store.offset(places[i]), sector.bytes),
                kSectorBytes);
      EXPECT_EQ(sector.bytes[17], static_cast<std::byte>(i));
    }
    EXPECT_NE(&store.file(places[0]), &store.file(places[1]));
  }
  std::filesystem::remove(directory);
}

// Aligned, as direct transfers want it.
class FilledBlock {
 public:
  explicit FilledBlock(std::byte content) : memory_(kBlock) {
    std::ranges::fill(memory_.span(), content);
  }
  std::span<std::byte> bytes() const { return memory_.span(); }

 private:
  MemoryRegion memory_;
};

// A directory with several files.
class SpaceInThree : public ScratchSpace {
 public:
  unsigned files(const File&) const override { return 3; }
  bool gives_back_soon(const File&) const override { return true; }
};

TEST(ScratchStoreFiles, the_slots_of_a_directory_go_to_several_files) {
  ScratchStore store({testing::TempDir(), testing::TempDir()}, kBlock, 7, {},
                     std::make_unique<SpaceInThree>());
  constexpr std::uint64_t kSlots = 1000;
  store.reserve(kSlots * kBlock);
  store.reserve(2 * kSlots * kBlock);
  for (unsigned disk = 0; disk < 2; ++disk) {
    std::uint64_t bytes = 0;
    for (const File& file : store.files(disk)) {
      EXPECT_NEAR(static_cast<double>(file.stored_bytes()), kSlots * kBlock / 3.0, 2e6);
      bytes += file.stored_bytes();
    }
    EXPECT_EQ(bytes, kSlots * kBlock);
  }
  ScratchStripe stripe = store.new_stripe();
  std::set<std::pair<const File*, std::uint64_t>> seen;
  std::vector<ScratchPlace> places;
  for (unsigned run = 0; run < 40; ++run) {
    std::size_t slots = 0;
    for (const ScratchPlace& place : store.allocate(stripe, 50)) {
      slots += place.slots;
      for (unsigned i = 0; i < place.slots; ++i) {  // one after the other, each its own
        const std::uint64_t offset = store.offset(place) + i * kBlock;
        EXPECT_TRUE(seen.emplace(&store.file(place), offset).second);
        places.push_back({place.slot + i, place.disk});
        EXPECT_EQ(&store.file(places.back()), &store.file(place));
        EXPECT_EQ(store.offset(places.back()), offset);
      }
    }
    EXPECT_EQ(slots, 50u);
  }
  const auto content = [](std::size_t i) { return std::byte(i % 251 + 1); };
  for (std::size_t i = 0; i < places.size(); ++i) {
    io::write_at(store.file(places[i]), store.offset(places[i]), FilledBlock(content(i)).bytes());
  }
  store.give_back_released();
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i].slot < 500) store.release(places[i]);
  }
  store.wait_until_given_back();
  for (std::size_t i = 0; i < places.size(); ++i) {
    FilledBlock block(std::byte{0});
    io::read_at(store.file(places[i]), store.offset(places[i]), block.bytes());
    if (places[i].slot < 500) continue;
    EXPECT_EQ(block.bytes()[kBlock - 1], content(i)) << i;
  }
}

TEST(ScratchStoreFiles, a_missing_directory_is_named) {
  try {
    ScratchStore store({"/nonexistent/scratch"}, kBlock, 7);
    FAIL() << "must throw";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent/scratch"), std::string::npos);
  }
}

TEST(ScratchStoreFiles, an_impossible_reservation_names_the_directory) {
  ScratchStore store({testing::TempDir()}, kBlock, 7);
  try {
    store.reserve(std::uint64_t{1} << 47);
    FAIL() << "must throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_space);
    EXPECT_NE(std::string(error.what()).find("128 TiB"), std::string::npos) << error.what();
  }
}

TEST_F(ScratchStoreTest, what_is_released_goes_back_to_the_file_system) {
  make({kPlenty, kPlenty});
  store_->reserve(2 * 6400 * kBlock);
  const std::vector<ScratchPlace> first = allocate_run(2000), second = allocate_run(2000);
  store_->give_back_released();
  store_->wait_until_given_back();
  EXPECT_EQ(space_->given_back_[0].size(), 4400u);  // was not in use
  std::vector<ScratchPlace> kept;                   // one of each 500 on its disk
  for (const ScratchPlace& place : first) {
    place.slot % 500 == 0 ? kept.push_back(place) : store_->release(place);
  }
  store_->wait_until_given_back();
  for (unsigned d = 0; d < 2; ++d) EXPECT_EQ(space_->given_back_[d].size(), 4400u + 1000u - 2);
  for (const ScratchPlace& place : kept) store_->release(place);
  for (const ScratchPlace& place : second) store_->release(place);
  store_->wait_until_given_back();
  EXPECT_FALSE(store_->wait_until_given_back());
  for (unsigned d = 0; d < 2; ++d) EXPECT_EQ(space_->given_back_[d].size(), 6400u);
  EXPECT_EQ(store_->bytes_in_use(), 0u);
}

TEST_F(ScratchStoreTest, a_file_system_that_would_hold_up_writes_is_not_asked) {
  const std::vector<ScratchPlace> run = half_of_a_disk();
  space_->gives_back_soon_ = false;
  store_->give_back_released();
  for (const ScratchPlace& place : run) store_->release(place);
  EXPECT_FALSE(store_->wait_until_given_back());
  EXPECT_TRUE(space_->given_back_.empty());
}

TEST_F(ScratchStoreTest, a_file_system_that_cannot_give_back_is_not_asked_again) {
  const std::vector<ScratchPlace> run = half_of_a_disk();
  space_->can_give_back_ = false;
  store_->give_back_released();
  store_->wait_until_given_back();
  const std::size_t asked = space_->given_back_[0].size();
  for (const ScratchPlace& place : run) store_->release(place);
  EXPECT_FALSE(store_->wait_until_given_back());
  EXPECT_EQ(space_->given_back_[0].size(), asked);
}

}  // namespace
}  // namespace xxl::io
