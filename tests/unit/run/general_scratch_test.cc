// Runs of text in scratch: plain, compressed, and filtered by a program.
#include "run/general_scratch.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/random.h"
#include "base/units.h"
#include "io_test_support.h"
#include "run/compress_program.h"
#include "run/run_tables.h"
#include "simulated_queue.h"
#include "watchdog.h"

namespace xxl {
namespace {

constexpr std::size_t kScratchBlock = 64 * kKiB;
constexpr std::size_t kSlot = 8 * kKiB;

class GeneralScratchTest : public testing::Test {
 protected:
  void make(BlockPacker packer, std::size_t slot_bytes = kSlot,
            test::TransferFunction transfer = test::honest_transfer) {
    io_ = std::make_unique<io::IoService>(test::simulated_queues(7, std::move(transfer)));
    store_ = std::make_unique<io::ScratchStore>(
        std::vector<std::string>{directory_.path(), directory_.path()}, slot_bytes, 3);
    scratch_ = std::make_unique<GeneralScratch>(*store_, *io_, monitor_, std::move(packer));
  }

  void write(const std::string& content) {
    contents_.push_back(content);
    auto buffer = std::make_shared<MemoryRegion>(BlockSource::buffer_bytes(content.size()));
    std::memcpy(buffer->data(), content.data(), content.size());
    std::byte* const data = buffer->data();
    scratch_->write(run_, {}, data, content.size(), [buffer = std::move(buffer)] {});
  }

  // Of the scratch store.
  std::size_t slots_of(const GeneralBlock& block) const {
    std::size_t slots = 0;
    for (const io::ScratchPlace& place : run_.places_of(block)) slots += place.slots;
    return slots;
  }

  // What block `index` is read back as.
  std::string read(std::size_t index) { return read(run_, index); }
  std::string read(const GeneralRun& run, std::size_t index) {
    const GeneralBlock& block = run.blocks[index];
    MemoryRegion buffer(BlockSource::buffer_bytes(block));
    bool arrived = false;
    scratch_->read(run, index, buffer.data(), [&] {
      auto lock = monitor_.lock();
      arrived = true;
      monitor_.notify();
    });
    {
      auto lock = monitor_.lock();
      monitor_.wait(lock, [&] { return arrived; });
    }
    scratch_->open(run, index, buffer.data());
    return {reinterpret_cast<const char*>(buffer.data()), block.bytes};
  }

  void check_round_trip(const std::vector<std::size_t>& sizes) {
    Random random(5);
    for (const std::size_t size : sizes) {
      for (const unsigned letters : {2u, 256u}) {
        std::string content(size, '\0');
        for (char& c : content) c = static_cast<char>(random.below(letters));
        write(content);
      }
    }
    scratch_->wait_for_writes();
    for (std::size_t i = 0; i < contents_.size(); ++i) EXPECT_EQ(read(i), contents_[i]) << i;
  }
  void release_all() {
    for (std::size_t i = 0; i < run_.blocks.size(); ++i) scratch_->release(run_, i);
    EXPECT_EQ(store_->bytes_in_use(), 0u);
  }

  io::test::TempDirectory directory_;
  test::Watchdog watchdog_;
  Monitor monitor_;
  GeneralRun run_;
  std::vector<std::string> contents_;
  std::unique_ptr<io::IoService> io_;
  std::unique_ptr<io::ScratchStore> store_;
  std::unique_ptr<GeneralScratch> scratch_;
};

TEST_F(GeneralScratchTest, PlainBlocksOfAnySize) {
  for (const std::size_t slot : {kSlot, kScratchBlock}) {
    run_ = {};
    contents_.clear();
    make({}, slot);
    check_round_trip({1, 4095, 4096, kScratchBlock - 1, kScratchBlock, kScratchBlock + 1,
                      5 * kScratchBlock + 17});
    for (const GeneralBlock& block : run_.blocks) {
      EXPECT_FALSE(block.packed);
      EXPECT_EQ(slots_of(block), ceil_div<std::size_t>(block.bytes, slot));
    }
    release_all();
  }
}

TEST_F(GeneralScratchTest, CompressedBlocksTakeFewerSlotsOrStayAsTheyAre) {
  for (const Codec codec : {Codec::lz4, Codec::zstd}) {
    run_ = {};
    contents_.clear();
    make(BlockPacker(codec, 0, 2 * kScratchBlock));
    check_round_trip({1, kSlot, kSlot + 1, kScratchBlock - 1, kScratchBlock, 2 * kScratchBlock,
                      3 * kScratchBlock});
    for (const GeneralBlock& block : run_.blocks) {
      const std::size_t slots = slots_of(block);
      EXPECT_EQ(slots, std::max<std::size_t>(1, ceil_div<std::size_t>(block.stored_bytes, kSlot)));
      if (block.packed) {
        EXPECT_LT(slots, ceil_div<std::size_t>(block.bytes, kSlot));
      }
    }
    EXPECT_TRUE(run_.blocks[8].packed);    // a block of two letters
    EXPECT_FALSE(run_.blocks[9].packed);   // a block of noise
    EXPECT_FALSE(run_.blocks[12].packed);  // larger than what is packed
    release_all();
  }
}

TEST_F(GeneralScratchTest, AllBlocksGoThroughAProgramAlsoWhenTheyGrow) {
  make(BlockPacker("gzip"));
  check_round_trip({1, 1000, kScratchBlock, 20 * kScratchBlock});
  for (const GeneralBlock& block : run_.blocks) EXPECT_TRUE(block.packed);
  EXPECT_GT(run_.blocks[5].stored_bytes, run_.blocks[5].bytes);  // noise
  release_all();
}

TEST_F(GeneralScratchTest, LongRecordsArePackedUpToALimit) {
  for (const bool program : {false, true}) {
    run_ = {};
    make(program ? BlockPacker("gzip") : BlockPacker(Codec::zstd, 0, 2 * kScratchBlock));
    MemoryRegion memory(4 * kScratchBlock);
    WriteBuffers buffers(memory.span(), monitor_);
    std::vector<std::string> records;
    for (const std::size_t size :
         {kScratchBlock + 1, 2 * kScratchBlock - 10, 2 * kScratchBlock, 9 * kScratchBlock}) {
      records.push_back(std::string(size, 'x'));
      scratch_->write_long(run_, {}, records.back(), buffers);
    }
    scratch_->wait_for_writes();
    for (std::size_t i = 0; i < records.size(); ++i) {
      const std::string block = read(i);
      EXPECT_EQ(coded_record(block.data()), records[i]);
      EXPECT_EQ(run_.blocks[i].packed, program || i < 2);
    }
    release_all();
  }
}

TEST_F(GeneralScratchTest, TheTableOfALongRunIsInScratch) {
  constexpr std::size_t kBlocks = 1000;
  for (const Codec codec : {Codec::none, Codec::zstd}) {
    run_ = {};
    make(codec == Codec::none ? BlockPacker() : BlockPacker(codec, 0, 2 * kScratchBlock));
    GeneralScratch::begin_parts(run_);
    std::vector<std::string> contents;
    MemoryRegion buffer(8 * kSlot);
    for (std::size_t i = 0; i < kBlocks; ++i) {
      // Some have many slots.
      contents.emplace_back(i % 100 == 0 ? 5 * kSlot : 100, static_cast<char>('a' + i % 7));
      std::memcpy(buffer.data(), contents.back().data(), contents.back().size());
      bool written = false;
      scratch_->write(run_, {}, buffer.data(), contents.back().size(), [&] {
        auto lock = monitor_.lock();
        written = true;
        monitor_.notify();
      });
      auto lock = monitor_.lock();
      monitor_.wait(lock, [&] { return written; });
    }
    scratch_->end_parts(run_);
    scratch_->wait_for_writes();
    EXPECT_LT(table_bytes(run_), 16 * kKiB);
    std::size_t number = 0;
    for (std::size_t part = 0; part < run_.parts->blocks.size(); ++part) {
      const GeneralRun table = scratch_->read_part(run_, part);
      for (std::size_t i = 0; i < table.blocks.size(); ++i) {
        EXPECT_EQ(read(table, i), contents[number++]);
        scratch_->release(table, i);
      }
      scratch_->release(*run_.parts, part);
    }
    EXPECT_EQ(number, kBlocks);
    EXPECT_EQ(store_->bytes_in_use(), 0u);
  }
}

TEST(RunTables, WhatIsCountedIsWhatTheVectorsHold) {
  GeneralRun run;
  EXPECT_EQ(table_bytes(run), kRunBytes + run.triggers.capacity());
  run.blocks.reserve(100);
  run.places.reserve(10);
  run.triggers.reserve(5000);
  EXPECT_EQ(table_bytes(run), kRunBytes + 100 * sizeof(GeneralBlock) +
                                  10 * sizeof(io::ScratchPlace) + run.triggers.capacity());
}

TEST_F(GeneralScratchTest, TheChecksumIsOfWhatIsStored) {
  make(BlockPacker(Codec::lz4, 0, kScratchBlock), kSlot, [](const io::Request& request) {
    const io::Completion completion = test::honest_transfer(request);
    if (request.op == io::Op::read) request.data[100] ^= std::byte{1};
    return completion;
  });
  write(std::string(kScratchBlock, 'x'));
  scratch_->wait_for_writes();
  EXPECT_TRUE(run_.blocks[0].packed);
  try {
    read(0);
    ADD_FAILURE() << "not noticed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::corrupt);
  }
}

TEST(CompressProgram, TakesAndGivesMoreThanAPipeHolds) {
  const test::Watchdog watchdog;
  std::vector<std::byte> data(10 * kMiB);
  Random random(1);
  for (std::byte& byte : data) byte = static_cast<std::byte>(random.below(256));
  EXPECT_EQ(run_compress_program("cat", false, data, data.size()), data);
  EXPECT_EQ(run_compress_program("cat", false, {}, 0).size(), 0u);
  const auto packed = run_compress_program("gzip", false, data, 2 * data.size());
  EXPECT_EQ(run_compress_program("gzip", true, packed, data.size()), data);
}

TEST(CompressProgram, FailuresAreErrors) {
  const test::Watchdog watchdog;
  const std::vector<std::byte> data(kMiB);
  const auto message = [&](const std::string& program, bool decompress, std::size_t most) {
    try {
      run_compress_program(program, decompress, data, most);
      return std::string("none");
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(message("/nonexistent", false, kMiB),
            "could not run compress program '/nonexistent': No such file or directory");
  EXPECT_EQ(message("false", false, kMiB), "'false' [-d] terminated abnormally");
  EXPECT_EQ(message("true", false, kMiB), "'true' ended before it had read all of its input");
  EXPECT_EQ(message("gzip", true, kMiB), "'gzip' [-d] terminated abnormally");
  EXPECT_EQ(message("cat", false, kMiB - 1), "'cat' makes too much of what it was given");
}

}  // namespace
}  // namespace xxl
