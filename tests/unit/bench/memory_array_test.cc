#include "bench/memory_array.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "base/random.h"
#include "bench/array_data.h"
#include "io_test_support.h"
#include "job/fixed_sort/fixed_sort.h"

namespace xxl::bench {
namespace {

constexpr double kBandwidth = 1e6;  // a byte takes a microsecond

DiskModel model(double latency, unsigned depth) {
  return {.read_bandwidth = kBandwidth,
          .write_bandwidth = kBandwidth,
          .latency = Time(latency),
          .depth = depth};
}

// A disk and requests to it, by a clock that the test sets.
class MemoryDiskTest : public ::testing::Test {
 protected:
  void submit(MemoryDisk& disk, io::Op op, std::size_t bytes, Time now) {
    io::Request request;
    request.op = op;
    request.data = std::span(memory_).first(bytes);
    request.done = [this](const io::Completion&) { ++completed_; };
    disk.submit(std::move(request), now);
  }

  // Moves all that may be in flight; returns how many are.
  static std::size_t move_all(MemoryDisk& disk) {
    std::vector<MemoryDisk::Transfer*> started;
    while (MemoryDisk::Transfer* const transfer = disk.start()) started.push_back(transfer);
    for (MemoryDisk::Transfer* const transfer : started) disk.moved(transfer);
    return started.size();
  }

  // Expects the transfer under way to be delivered at `seconds`.
  static void expect_delivery(MemoryDisk& disk, double seconds) {
    EXPECT_EQ(disk.deliver(Time(seconds - 1e-4)), 0u);
    EXPECT_EQ(disk.deliver(Time(seconds + 1e-4)), 1u);
  }

  std::size_t completed_ = 0;

 private:
  std::vector<std::byte> memory_{1'000'000};
};

TEST_F(MemoryDiskTest, a_transfer_takes_latency_and_its_bytes_over_the_bandwidth) {
  MemoryDisk disk(model(0.5, 4));
  submit(disk, io::Op::read, 250'000, Time(10));
  EXPECT_EQ(move_all(disk), 1u);
  expect_delivery(disk, 10.75);
  EXPECT_EQ(completed_, 1u);
}

TEST_F(MemoryDiskTest, reading_and_writing_have_their_own_bandwidth) {
  MemoryDisk disk({.read_bandwidth = 2e6, .write_bandwidth = 1e6, .depth = 1});
  submit(disk, io::Op::read, 1'000'000, Time(0));
  move_all(disk);
  EXPECT_EQ(disk.deliver(Time(0.51)), 1u);
  submit(disk, io::Op::write, 1'000'000, Time(1));
  move_all(disk);
  expect_delivery(disk, 2);
}

TEST_F(MemoryDiskTest, data_that_has_not_been_moved_is_not_delivered) {
  MemoryDisk disk(model(0, 1));
  submit(disk, io::Op::read, 1000, Time(0));
  MemoryDisk::Transfer* const transfer = disk.start();
  ASSERT_NE(transfer, nullptr);
  EXPECT_EQ(disk.deliver(Time(5)), 0u);
  disk.moved(transfer);
  EXPECT_EQ(disk.deliver(Time(5)), 1u);
}

TEST_F(MemoryDiskTest, latencies_overlap_and_bytes_do_not) {
  MemoryDisk disk(model(0.5, 8));
  for (int i = 0; i < 8; ++i) submit(disk, io::Op::read, 100'000, Time(0));
  EXPECT_EQ(move_all(disk), 8u);
  for (std::size_t i = 1; i <= 8; ++i) {
    const double due = 0.5 + 0.1 * static_cast<double>(i);
    disk.deliver(Time(due - 0.001));
    EXPECT_EQ(completed_, i - 1);
    disk.deliver(Time(due + 0.001));
    EXPECT_EQ(completed_, i);
  }
}

TEST_F(MemoryDiskTest, as_many_transfers_as_its_depth_are_in_flight) {
  MemoryDisk disk(model(0, 3));
  for (int i = 0; i < 5; ++i) submit(disk, io::Op::read, 100'000, Time(0));
  EXPECT_EQ(move_all(disk), 3u);
  EXPECT_EQ(move_all(disk), 0u);
  EXPECT_EQ(disk.deliver(Time(0.11)), 1u);
  EXPECT_EQ(move_all(disk), 1u);
  EXPECT_EQ(disk.deliver(Time(0.31)), 2u);
  EXPECT_EQ(move_all(disk), 1u);
}

TEST_F(MemoryDiskTest, with_depth_1_every_transfer_pays_the_latency) {
  MemoryDisk disk(model(0.1, 1));
  for (int i = 0; i < 10; ++i) submit(disk, io::Op::read, 100'000, Time(0));
  for (int i = 1; i <= 10; ++i) {
    EXPECT_EQ(move_all(disk), 1u);
    EXPECT_EQ(disk.deliver(Time(0.2 * i - 0.001)), 0u);
    EXPECT_EQ(disk.deliver(Time(0.2 * i + 0.001)), 1u);
  }
}

TEST_F(MemoryDiskTest, a_late_look_does_not_slow_the_disk) {
  MemoryDisk disk(model(0, 1));
  for (int i = 0; i < 2; ++i) submit(disk, io::Op::read, 100'000, Time(0));
  move_all(disk);
  EXPECT_EQ(disk.deliver(Time(0.15)), 1u);  // due at 0.1
  move_all(disk);
  EXPECT_EQ(disk.deliver(Time(0.201)), 1u);
}

TEST_F(MemoryDiskTest, time_in_which_nothing_was_asked_for_is_lost) {
  MemoryDisk disk(model(0, 4));
  submit(disk, io::Op::read, 1000, Time(0));
  move_all(disk);
  disk.deliver(Time(1));
  submit(disk, io::Op::read, 100'000, Time(50));
  move_all(disk);
  expect_delivery(disk, 50.1);
}

TEST_F(MemoryDiskTest, writes_are_started_before_reads) {
  MemoryDisk disk(model(0, 1));
  submit(disk, io::Op::read, 1000, Time(0));
  submit(disk, io::Op::write, 1000, Time(0));
  const MemoryDisk::Transfer* const transfer = disk.start();
  ASSERT_NE(transfer, nullptr);
  EXPECT_EQ(transfer->request.op, io::Op::write);
}

TEST_F(MemoryDiskTest, the_time_that_it_is_behind_is_counted_once) {
  MemoryDisk disk(model(0, 4));
  for (int i = 0; i < 3; ++i) submit(disk, io::Op::read, 100'000, Time(0));
  move_all(disk);
  disk.deliver(Time(0.1));
  EXPECT_NEAR(disk.behind().count(), 0, 1e-9);
  disk.deliver(Time(0.5));  // due at 0.2 and 0.3
  EXPECT_EQ(completed_, 3u);
  EXPECT_NEAR(disk.behind().count(), 0.3, 1e-9);
}

// Two hundred transfers of random sizes, asked for and looked at at random times.
TEST_F(MemoryDiskTest, is_as_fast_as_its_model_and_never_faster) {
  for (const unsigned depth : {1u, 3u, 32u}) {
    Random random(depth);
    MemoryDisk disk(model(0, depth));
    double bytes = 0;
    completed_ = 0;
    for (int i = 0; i < 200; ++i) {
      const std::size_t size = 1 + random.below(100'000);
      submit(disk, random.below(2) == 0 ? io::Op::read : io::Op::write, size, Time(0));
      bytes += static_cast<double>(size);
    }
    double now = 0;
    while (completed_ < 200) {
      EXPECT_LE(move_all(disk), depth);
      now += 0.01 * static_cast<double>(random.below(20));
      disk.deliver(Time(now));
      ASSERT_LT(now, 100);
    }
    EXPECT_GE(now, bytes / kBandwidth);
    if (depth == 32) {
      EXPECT_LE(now, bytes / kBandwidth + 0.2);
    }
  }
}

std::vector<std::byte> bytes_of(std::size_t count, std::uint64_t offset) {
  std::vector<std::byte> bytes(count);
  io::test::fill(bytes, offset);
  return bytes;
}

TEST(MemoryFileTest, what_is_written_across_extents_is_read) {
  ExtentPool pool(4 * ExtentPool::kExtentBytes, 2);
  for (const CopyKind copy : {CopyKind::cached, CopyKind::streaming}) {
    MemoryFile file(pool, copy);
    const std::uint64_t offset = ExtentPool::kExtentBytes - 1001;
    const auto written = bytes_of(ExtentPool::kExtentBytes + 5000, offset);
    EXPECT_EQ(file.write(offset, written).error, 0);
    std::vector<std::byte> read(written.size());
    EXPECT_EQ(file.read(offset, read).bytes, read.size());
    EXPECT_EQ(read, written);
  }
  EXPECT_EQ(pool.free_extents(), 4u);
}

TEST(MemoryFileTest, streaming_copies_any_bytes) {
  const auto from = bytes_of(400, 7);
  for (std::size_t begin = 0; begin < 64; begin += 5) {
    for (std::size_t bytes = 0; bytes < 300; bytes += 7) {
      std::vector<std::byte> to(400), expected(400);
      copy_bytes(CopyKind::streaming, to.data() + begin, from.data() + 3, bytes);
      std::copy_n(from.data() + 3, bytes, expected.data() + begin);
      ASSERT_EQ(to, expected) << begin << " " << bytes;
    }
  }
}

TEST(MemoryFileTest, reads_end_at_its_size) {
  ExtentPool pool(ExtentPool::kExtentBytes, 1);
  MemoryFile file(pool, CopyKind::cached);
  file.write(0, bytes_of(5000, 0));
  file.set_size(5000);
  std::vector<std::byte> read(4096);
  EXPECT_EQ(file.read(4096, read).bytes, 904u);
  EXPECT_EQ(file.read(8192, read).bytes, 0u);
}

TEST(MemoryFileTest, what_was_never_written_is_zero) {
  ExtentPool pool(ExtentPool::kExtentBytes, 1);
  MemoryFile file(pool, CopyKind::cached);
  std::vector<std::byte> read(100, std::byte{1});
  EXPECT_EQ(file.read(10 * ExtentPool::kExtentBytes, read).bytes, 100u);
  EXPECT_EQ(read, std::vector<std::byte>(100));
}

TEST(MemoryFileTest, a_write_beyond_the_memory_fails) {
  ExtentPool pool(ExtentPool::kExtentBytes, 1);
  MemoryFile file(pool, CopyKind::cached);
  const auto data = bytes_of(ExtentPool::kExtentBytes + 100, 0);
  const io::Completion completion = file.write(0, data);
  EXPECT_EQ(completion.error, ENOSPC);
  EXPECT_EQ(completion.bytes, ExtentPool::kExtentBytes);
}

TEST(MemoryFileTest, extents_that_were_read_are_forgotten) {
  ExtentPool pool(2 * ExtentPool::kExtentBytes, 1);
  MemoryFile file(pool, CopyKind::cached);
  const std::size_t size = ExtentPool::kExtentBytes + 3000;
  file.write(0, bytes_of(size, 0));
  file.set_size(size);
  file.forget_what_was_read();
  EXPECT_EQ(pool.free_extents(), 0u);
  std::vector<std::byte> read(ExtentPool::kExtentBytes);
  EXPECT_EQ(file.read(4096, read).bytes, size - 4096);
  EXPECT_TRUE(io::test::is_filled(std::span(read).first(size - 4096), 4096));
  EXPECT_EQ(pool.free_extents(), 1u);  // the second one has been read
  EXPECT_EQ(file.read(0, std::span(read).first(4096)).bytes, 4096u);
  EXPECT_EQ(pool.free_extents(), 2u);
  EXPECT_EQ(file.read(0, std::span(read).first(4096)).error, EIO);
}

DiskModel fast_disk(unsigned depth) {
  return {.read_bandwidth = 1e12, .write_bandwidth = 1e12, .latency = Time(1e-6), .depth = depth};
}

TEST(MemoryArrayTest, what_many_threads_write_they_read) {
  constexpr std::size_t kBlock = 48 * 1024 + 8, kBlocks = 40;
  constexpr unsigned kThreads = 4;
  ExtentPool pool(32 * kMiB, 1);
  MemoryFiles files(pool);
  MemoryArray array({.disks = 3, .disk = fast_disk(2), .unbound_movers = 2}, files);
  io::test::TempDirectory directory;
  const io::File file = io::File::create_unnamed(directory.path());
  io::IoService service(array.queues());
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const auto transfer_all = [&](io::Op op, std::vector<std::vector<std::byte>>& blocks) {
        io::test::Completions completions;
        for (std::size_t i = 0; i < kBlocks; ++i) {
          const std::uint64_t offset = (i * kThreads + thread) * kBlock;
          service.queue_for(file).submit({op, &file, offset, blocks[i], completions.expect(i)});
        }
        completions.wait();
        for (std::size_t i = 0; i < kBlocks; ++i) {
          EXPECT_EQ(completions.result(i).error, 0);
          EXPECT_EQ(completions.result(i).bytes, kBlock);
        }
      };
      std::vector<std::vector<std::byte>> written, read(kBlocks, std::vector<std::byte>(kBlock));
      for (std::size_t i = 0; i < kBlocks; ++i)
        written.push_back(bytes_of(kBlock, i * 31 + thread));
      transfer_all(io::Op::write, written);
      transfer_all(io::Op::read, read);
      EXPECT_EQ(read, written);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(service.stats().bytes_written, kThreads * kBlocks * kBlock);
  EXPECT_EQ(service.stats().bytes_read, kThreads * kBlocks * kBlock);
  EXPECT_EQ(service.stats().requests, 2 * kThreads * kBlocks);
}

TEST(MemoryArrayTest, a_queue_waits_for_its_transfers) {
  ExtentPool pool(4 * kMiB, 1);
  MemoryFiles files(pool);
  MemoryArray array({.disks = 1, .disk = fast_disk(1), .unbound_movers = 1}, files);
  io::test::TempDirectory directory;
  const io::File file = io::File::create_unnamed(directory.path());
  std::vector<std::byte> block(4096);
  std::atomic<int> completed{0};
  {
    io::IoService service(array.queues());
    for (int i = 0; i < 20; ++i) {
      service.queue_for(file).submit(
          {io::Op::write, &file, 0, block, [&](const io::Completion&) { ++completed; }});
    }
  }
  EXPECT_EQ(completed, 20);
}

// Sorts `data`, of which the input is `input`, on an array; returns whether the output is right.
bool sorts(const ArrayData& data, FixedSortOptions options) {
  io::test::TempDirectory directory;
  ExtentPool pool(4 * data.bytes() + 16 * kMiB, 1);
  MemoryFiles files(pool);
  io::test::write_file(directory / "in", std::string(data.bytes(), '\0'));
  MemoryFile& input = files.of(io::File::open_input(directory / "in"));
  const Sum128 checksum = make_records(data, input, 2);
  input.set_size(data.bytes());
  MemoryArray array({.disks = 2, .disk = fast_disk(4), .unbound_movers = 2}, files);
  for (unsigned disk = 0; disk < 2; ++disk) {
    options.scratch_dirs.push_back(directory / std::to_string(disk));
    std::filesystem::create_directory(options.scratch_dirs.back());
    array.place(options.scratch_dirs.back(), disk);
  }
  options.inputs = {directory / "in"};
  options.output = directory / "out";
  options.format = data.format;
  options.queue_factory = array.queues();
  EXPECT_GT(fixed_sort(options).runs, 1u);
  const io::File output = io::File::open_input(directory / "out");
  EXPECT_EQ(output.size(), data.bytes());
  return check_records(data, checksum, files.of(output), 2);
}

TEST(MemoryArrayTest, a_sort_on_it_is_right) {
  for (const char* const kind : {"u64", "gensort"}) {
    FixedSortOptions options;
    options.memory_bytes = 4 * kMiB;
    options.threads = 2;
    EXPECT_TRUE(sorts(ArrayData(kind, 16 * kMiB), options)) << kind;
  }
}

TEST(ArrayDataTest, an_output_that_is_not_in_order_or_not_the_input_is_noticed) {
  ExtentPool pool(16 * kMiB, 1);
  for (const char* const kind : {"u64", "gensort", "lines"}) {
    const ArrayData data(kind, 3 * kMiB);
    const std::size_t record = data.format.record_bytes;
    MemoryFile file(pool, CopyKind::cached);
    const Sum128 checksum = make_records(data, file, 2);
    EXPECT_FALSE(check_records(data, checksum, file, 2)) << kind;  // in random order

    std::vector<std::byte> same(record), all(data.bytes());
    file.read(0, same);
    for (std::size_t at = 0; at < all.size(); at += record) {
      std::copy(same.begin(), same.end(), all.begin() + at);
    }
    file.write(0, all);
    EXPECT_FALSE(check_records(data, checksum, file, 2)) << kind;  // in order, but other records
  }
}

}  // namespace
}  // namespace xxl::bench
