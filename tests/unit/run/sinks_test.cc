#include "run/sinks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <future>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "base/memory_region.h"
#include "base/units.h"
#include "io/transfer.h"
#include "io_test_support.h"
#include "run/compressed_bytes.h"
#include "simulated_queue.h"
#include "sort_test_support.h"
#include "watchdog.h"

#include <fcntl.h>

namespace xxl {
namespace {

using test::Bytes;

constexpr std::size_t kBlock = 2 * kSectorBytes;
constexpr std::size_t kBlocks = 40;

class SinksTest : public testing::Test {
 protected:
  SinksTest() : content_(test::random_bytes(kBlocks * kBlock - 1000, random_)) {
    order_.resize(kBlocks);
    std::iota(order_.begin(), order_.end(), std::uint64_t{0});
    std::shuffle(order_.begin(), order_.end(), random_);
  }

  // Block number `index` of the content, in a buffer of the pool.
  FinishedBlock block(std::uint64_t index) {
    const std::size_t bytes = std::min(kBlock, content_.size() - index * kBlock);
    FinishedBlock block{buffers_.take(), bytes, index};
    std::memcpy(block.buffer, content_.data() + index * kBlock, bytes);
    return block;
  }
  void put_all(BlockSink& sink) {
    for (const std::uint64_t index : order_) {
      while (buffers_.available() == 0) mailbox_.wait_and_run();
      sink.put(block(index));
    }
    while (sink.pending() > 0) mailbox_.wait_and_run();
    EXPECT_EQ(buffers_.available(), buffers_.count());
  }

  test::Watchdog watchdog_;
  io::test::TempDirectory directory_;
  const KeyLayout layout_{test::format_of("u64")};
  Random random_{51};
  Bytes content_;
  std::vector<std::uint64_t> order_;
  MemoryRegion memory_{kBlocks * kBlock};
  io::BufferPool buffers_{memory_.span(), kBlock};
  Mailbox mailbox_;
  int error_ = 0;  // of the transfers
  io::IoService io_{test::simulated_queues(52, [this](const io::Request& request) {
    return error_ == 0 ? test::honest_transfer(request) : io::Completion{error_, 0};
  })};
};

TEST_F(SinksTest, a_stream_gets_its_blocks_in_order_whatever_the_order_they_come_in) {
  const std::string path = directory_ / "stream";
  {
    io::File file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600), path, false);
    OutputSink sink(std::make_unique<StreamBytes>(file, io_), kBlock, buffers_, mailbox_);
    put_all(sink);
  }
  const std::string text = io::test::file_text(path);
  ASSERT_EQ(text.size(), content_.size());
  EXPECT_EQ(std::memcmp(text.data(), content_.data(), text.size()), 0);
}

TEST_F(SinksTest, a_file_gets_its_blocks_at_their_places_padded_with_zeros) {
  const io::File file = io::File::create_unnamed(directory_.path());
  OutputSink sink(std::make_unique<FileBytes>(file, kBlock, io_), kBlock, buffers_, mailbox_);
  put_all(sink);
  MemoryRegion read(kBlocks * kBlock);
  ASSERT_EQ(io::read_at(file, 0, read.span()), round_up(content_.size(), kSectorBytes));
  EXPECT_EQ(std::memcmp(read.data(), content_.data(), content_.size()), 0);
  for (std::size_t i = content_.size(); i < kBlocks * kBlock; ++i) {
    ASSERT_EQ(read.data()[i], std::byte{0}) << i;
  }
}

TEST_F(SinksTest, a_run_remembers_where_its_blocks_are) {
  io::ScratchStore store({directory_.path(), directory_.path(), directory_.path()}, kBlock, 53);
  store.reserve(kBlocks * kBlock);
  xxl::Run run;
  run.records_per_block = kBlock / 8;
  {
    ScratchSink sink(run, layout_, buffers_, mailbox_, store, io_);
    EXPECT_EQ(sink.payload_bytes(), kBlock);
    put_all(sink);
  }
  ASSERT_EQ(run.blocks.size(), kBlocks);
  EXPECT_EQ(run.records, content_.size() / 8);
  EXPECT_EQ(store.bytes_in_use(), kBlocks * kBlock);
  MemoryRegion read(kBlock);
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const io::ScratchPlace place = run.blocks[i].place;
    io::read_at(store.file(place), store.offset(place), read.span());
    const std::size_t bytes = std::min(kBlock, content_.size() - i * kBlock);
    const std::byte* const first = content_.data() + i * kBlock;
    EXPECT_EQ(run.blocks[i].trigger, trigger_of(layout_, first));
    EXPECT_EQ(run.blocks[i].checksum, block_checksum({first, bytes}));
    ASSERT_EQ(std::memcmp(read.data(), content_.data() + i * kBlock, bytes), 0) << i;
  }
}

TEST_F(SinksTest, a_run_of_packed_blocks_is_read_back_as_it_was) {
  for (std::size_t i = 0; i < content_.size(); ++i)
    content_[i] &= std::byte{3};  // two bits of eight
  io::ScratchStore store({directory_.path(), directory_.path()}, kSectorBytes, 53);
  xxl::Run run;
  run.records_per_block = kBlock / 8;
  const BlockPacker packer(Codec::zstd, 0, kBlock);
  {
    ScratchSink sink(run, layout_, buffers_, mailbox_, store, io_, packer);
    put_all(sink);
  }
  EXPECT_LT(store.bytes_in_use(), kBlocks * kBlock);
  RunStore blocks(store, io_, packer);
  MemoryRegion read(kBlock);
  for (std::size_t i = 0; i < kBlocks; ++i) {
    std::promise<void> arrived;
    blocks.read(run, run.blocks[i], read.data(), [&arrived](const std::exception_ptr& failure) {
      failure == nullptr ? arrived.set_value() : arrived.set_exception(failure);
    });
    arrived.get_future().get();
    blocks.open(run, run.blocks[i], read.data());
    const std::size_t bytes = std::min(kBlock, content_.size() - i * kBlock);
    ASSERT_EQ(std::memcmp(read.data(), content_.data() + i * kBlock, bytes), 0) << i;
    read.data()[7] ^= std::byte{1};
    EXPECT_THROW(blocks.open(run, run.blocks[i], read.data()), Error);
    blocks.release(run, run.blocks[i]);
  }
  EXPECT_EQ(store.bytes_in_use(), 0u);
}

TEST_F(SinksTest, a_failed_write_of_compressed_output_is_thrown_at_the_end) {
  const io::File file = io::File::create_unnamed(directory_.path());
  auto monitor = std::make_unique<Monitor>();
  auto frames =
      std::make_unique<CompressedBytes>(file, Codec::zstd, 0, kBlocks * kBlock, io_, *monitor);
  OutputSink sink(std::move(frames), kBlock, buffers_, mailbox_, std::move(monitor));
  error_ = EIO;
  try {
    std::sort(order_.begin(), order_.end());
    for (const std::uint64_t index : order_) sink.put(block(index));
    while (sink.pending() > 0) mailbox_.wait_and_run();
    sink.finish();
    FAIL() << "must throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.sys_errno(), EIO);
  }
}

TEST_F(SinksTest, a_failed_write_is_thrown_with_its_file_and_place) {
  const io::File file = io::File::create_unnamed(directory_.path());
  OutputSink sink(std::make_unique<FileBytes>(file, kBlock, io_), kBlock, buffers_, mailbox_);
  error_ = EIO;
  sink.put(block(3));
  try {
    while (sink.pending() > 0) mailbox_.wait_and_run();
    FAIL() << "must throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_EQ(error.sys_errno(), EIO);
    EXPECT_EQ(error.path(), file.path());
    EXPECT_EQ(error.offset(), 3 * kBlock);
  }
  EXPECT_EQ(buffers_.available(), buffers_.count());
}

TEST_F(SinksTest, a_full_disk_is_told_apart) {
  const io::File file = io::File::create_unnamed(directory_.path());
  OutputSink sink(std::make_unique<FileBytes>(file, kBlock, io_), kBlock, buffers_, mailbox_);
  error_ = ENOSPC;
  sink.put(block(0));
  try {
    while (sink.pending() > 0) mailbox_.wait_and_run();
    FAIL() << "must throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_space);
  }
}

TEST_F(SinksTest, destroyed_with_writes_under_way_a_sink_waits_for_them) {
  const io::File file = io::File::create_unnamed(directory_.path());
  OutputSink sink(std::make_unique<FileBytes>(file, kBlock, io_), kBlock, buffers_, mailbox_);
  for (const std::uint64_t index : order_) sink.put(block(index));
}

}  // namespace
}  // namespace xxl
