#include "merge/fetched_blocks.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/random.h"
#include "base/units.h"
#include "merge/runs_on_disk.h"
#include "simulated_queue.h"
#include "sort_test_support.h"
#include "watchdog.h"

namespace xxl {
namespace {

using test::Bytes;
using test::format_of;
using test::merge::RunsOnDisk;

// Fetches runs that it has put on disk, and compares what is in memory with what was written.
class Fetching : public RunsOnDisk {
 public:
  Fetching(const RecordFormat& format, unsigned disks, std::uint64_t seed,
           test::TransferFunction transfer = test::honest_transfer)
      : RunsOnDisk(format, disks, kSectorBytes, seed),
        workers_(2),
        io_(test::simulated_queues(seed, std::move(transfer))) {}

  // With memory for `count` blocks. Without further runs.
  FetchedBlocks& begin(std::size_t count) {
    memory_.emplace(count * buffer_bytes());
    pool_.emplace(memory_->span(), buffer_bytes());
    ends_.resize(runs().size());
    seen_.resize(runs().size());
    std::uint64_t first = 0;
    for (const xxl::Run& run : runs()) {
      first_.push_back(first);
      first += run.records;
    }
    return blocks_.emplace(context_, runs(), *pool_, 0,
                           [this](std::uint32_t run) { changes_.push_back(run); });
  }
  FetchedBlocks& blocks() { return *blocks_; }
  io::BufferPool& pool() { return *pool_; }
  const FetchedRun& run(std::size_t index) const { return blocks_->runs()[index]; }

  // Waits until something has arrived, or has failed.
  void wait() { mailbox_.wait_and_run(); }
  // Waits for all reads under way.
  void wait_for_all() {
    while (blocks_->reading() > 0) wait();
  }

  // Checks all records that came into memory since the last time.
  void check_records() {
    const std::size_t size = layout().record_bytes();
    for (const std::uint32_t run : std::exchange(changes_, {})) {
      const FetchedRun& fetched = this->run(run);
      for (; seen_[run] < fetched.records_in_memory(); ++seen_[run]) {
        const std::byte* written = records().data() + (first_[run] + seen_[run]) * size;
        ASSERT_EQ(std::memcmp(fetched.record(seen_[run]), written, size), 0)
            << "run " << run << " record " << seen_[run];
      }
    }
  }
  // Releases what is in memory of each run, all or up to a random record.
  void release(bool all, Random& random) {
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      const std::uint64_t left = run(i).records_in_memory() - ends_[i];
      ends_[i] += all ? left : random.below(left + 1);
    }
    blocks_->release(ends_);
  }
  bool all_released() const {
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      if (ends_[i] < runs()[i].records) return false;
    }
    return true;
  }
  // Everything arrives, is checked and released.
  void go_through(Random& random) {
    while (!all_released()) {
      blocks_->fetch();
      if (blocks_->reading() > 0) wait();
      check_records();
      release(blocks_->reading() == 0, random);
    }
    EXPECT_EQ(blocks_->reading(), 0u);
    EXPECT_EQ(pool_->available(), pool_->count());
    EXPECT_EQ(store().bytes_in_use(), 0u);
  }

 private:
  test::Watchdog watchdog_;
  Mailbox mailbox_;
  Workers workers_;
  io::IoService io_;
  RunStore store_{store(), io_};
  FetchContext context_{layout(), io_, workers_, mailbox_, &store_};
  std::vector<std::uint64_t> first_;  // of each run, in records()
  std::vector<std::uint64_t> seen_;   // records checked
  std::vector<std::uint64_t> ends_;   // records released
  std::vector<std::uint32_t> changes_;
  std::optional<MemoryRegion> memory_;
  std::optional<io::BufferPool> pool_;
  std::optional<FetchedBlocks> blocks_;
};

TEST(FetchedBlocks, every_record_is_held_until_it_is_released) {
  std::uint64_t seed = 600;
  for (const char* record : {"u64", "gensort", "fixed:1001"}) {
    for (const unsigned disks : {1u, 3u}) {
      for (const std::size_t spare : {1u, 7u, 500u}) {
        SCOPED_TRACE(record + (" seed " + std::to_string(++seed)));
        const RecordFormat format = format_of(record);
        Random random(seed);
        Fetching fetching(format, disks, seed);
        Bytes in_files;
        for (std::size_t run = 0; run < 9; ++run) {
          const std::size_t count = random.below(40000 / format.record_bytes);
          const Bytes records =
              test::sorted_records(format, test::random_records(format, count, random));
          if (run % 3 != 1) {
            fetching.add_scratch_run(records);
          } else {
            fetching.add_file_run(records, run * 1237);
            in_files.insert(in_files.end(), records.begin(), records.end());
          }
        }
        fetching.begin(fetching.runs().size() + spare);
        fetching.go_through(random);
        EXPECT_EQ(fetching.blocks().files_hash(), test::hash_of(in_files, format.record_bytes));
        EXPECT_EQ(fetching.blocks().refetched(), 0u);
      }
    }
  }
}

TEST(FetchedBlocks, one_disk_is_read_in_the_order_of_prediction_as_far_as_memory_goes) {
  const RecordFormat format = format_of("u64");
  Random random(61);
  Fetching fetching(format, 1, 61);
  for (int run = 0; run < 5; ++run) {
    fetching.add_scratch_run(
        test::sorted_records(format, test::random_records(format, 5000, random)));
  }
  fetching.begin(17).fetch();
  EXPECT_EQ(fetching.blocks().reading(), 17u);
  PredictionSequence sequence(fetching.runs(), true);
  for (int i = 0; !sequence.finished(); ++i) {
    const BlockRef ref = sequence.next();
    EXPECT_EQ(fetching.run(ref.run).lacks(ref.block), i >= 17) << i;
  }
}

// Run 0 comes before run 1, so that its blocks fill the memory.
TEST(FetchedBlocks,
     a_block_fetched_out_of_order_takes_the_place_of_the_farthest_which_comes_again) {
  const RecordFormat format = format_of("u64");
  const std::size_t per_block = kSectorBytes / 8;
  Random random(62);
  const Bytes all =
      test::sorted_records(format, test::random_records(format, 20 * per_block, random));
  Fetching fetching(format, 1, 62);
  const auto middle = all.begin() + all.size() / 2;
  fetching.add_file_run(Bytes(all.begin(), middle), 0);
  fetching.add_file_run(Bytes(middle, all.end()), 0);
  FetchedBlocks& blocks = fetching.begin(4);
  blocks.fetch();
  fetching.wait_for_all();
  fetching.check_records();
  EXPECT_EQ(fetching.run(0).first_missing(), 4u);
  EXPECT_EQ(fetching.run(1).records_in_memory(), 0u);

  blocks.fetch_next_of(1);
  EXPECT_TRUE(fetching.run(0).lacks(3));
  EXPECT_EQ(fetching.run(0).first_missing(), 3u);
  fetching.wait_for_all();
  fetching.check_records();
  EXPECT_EQ(fetching.run(1).first_missing(), 1u);

  blocks.release({per_block, 0});
  blocks.fetch();
  EXPECT_FALSE(fetching.run(0).lacks(3)) << "the dropped block is the first to be fetched";
  fetching.go_through(random);
  EXPECT_EQ(blocks.refetched(), 1u);
  EXPECT_EQ(blocks.files_hash(), test::hash_of(all, 8)) << "the dropped block counts once";
}

// What is read of the last block of a run, when it meets `fault`.
Error error_of(bool in_file, const test::TransferFunction& fault, std::uint64_t records_there) {
  const RecordFormat format = format_of("u64");
  Random random(63);
  bool faulty = false;
  Fetching fetching(format, 1, 63, [&](const io::Request& request) {
    return faulty ? fault(request) : test::honest_transfer(request);
  });
  const Bytes records = test::sorted_records(format, test::random_records(format, 2000, random));
  in_file ? fetching.add_file_run(records, 0) : fetching.add_scratch_run(records);
  FetchedBlocks& blocks = fetching.begin(3);
  blocks.fetch();
  fetching.wait_for_all();
  fetching.release(true, random);
  faulty = true;
  blocks.fetch();
  try {
    fetching.wait_for_all();
  } catch (const Error& error) {
    EXPECT_EQ(blocks.reading(), 0u);
    EXPECT_EQ(fetching.run(0).records_in_memory(), records_there);
    EXPECT_FALSE(fetching.run(0).lacks(3)) << "it is not read again";
    return error;
  }
  return Error(ErrorCode::usage, "nothing was thrown");
}

TEST(FetchedBlocks, a_block_that_cannot_be_read_or_is_not_what_was_written_never_counts_as_there) {
  const auto failed = [](const io::Request&) { return io::Completion{EIO, 0}; };
  const auto cut_short = [](const io::Request&) { return io::Completion{0, 8}; };
  const auto zeroed = [](const io::Request& request) {
    std::fill(request.data.begin(), request.data.end(), std::byte{0});
    return io::Completion{0, request.data.size()};
  };
  const std::uint64_t there = 3 * kSectorBytes / 8;
  EXPECT_EQ(error_of(false, failed, there).code(), ErrorCode::io);
  EXPECT_EQ(error_of(true, failed, there).code(), ErrorCode::io);
  EXPECT_NE(error_of(false, cut_short, there).code(), ErrorCode::usage);
  EXPECT_NE(error_of(true, cut_short, there).code(), ErrorCode::usage);
  EXPECT_EQ(error_of(false, zeroed, there).code(), ErrorCode::corrupt);
  EXPECT_EQ(error_of(true, zeroed, there).code(), ErrorCode::bad_input) << "the file has changed";
}

}  // namespace
}  // namespace xxl
