#include "cluster/local_scratch.h"

#include <gtest/gtest.h>

#include <cstring>
#include <exception>
#include <functional>
#include <future>
#include <vector>

#include "base/error.h"
#include "base/memory_region.h"
#include "base/units.h"
#include "cluster/message.h"
#include "cluster/thread_peers.h"
#include "io_test_support.h"
#include "waited_transfer.h"

namespace xxl {
namespace {

constexpr std::size_t kBlock = 4 * kSectorBytes;

class LocalScratchTest : public testing::Test {
 protected:
  // Of each rank: scratch of two disks with one block of `rank`, then work.
  void with_ranks(bool one_machine,
                  const std::function<void(Peers&, LocalScratch&, const StoredBlock&)>& work) {
    test::run_ranks(3, one_machine, [&](Peers& peers) {
      io::IoService io(Backend::automatic, {});
      io::ScratchStore store({directory_.path(), directory_.path()}, kSectorBytes, peers.rank());
      RunStore blocks(store, io);
      MemoryRegion buffer(kBlock);
      std::memset(buffer.data(), 'a' + static_cast<int>(peers.rank()), kBlock);
      StoredRun run;
      test::WaitedTransfer written;
      const StoredBlock block = blocks.write(run, buffer.data(), kBlock, written.done());
      written.wait();
      LocalScratch scratch(store, blocks, io, peers);
      runs_[peers.rank()] = run;
      gather(peers, true);
      work(peers, scratch, block);
      gather(peers, true);
    });
  }

  io::test::TempDirectory directory_;
  StoredRun runs_[3];
};

TEST_F(LocalScratchTest, ranks_of_one_machine_read_each_others_blocks) {
  with_ranks(true, [&](Peers& peers, LocalScratch& scratch, const StoredBlock& block) {
    EXPECT_EQ(scratch.disks(), 2u);
    const std::vector<StoredBlock> blocks = gather(peers, block);
    MemoryRegion buffer(kBlock);
    for (unsigned rank = 0; rank < peers.ranks(); ++rank) {
      EXPECT_TRUE(scratch.is_open_to(rank));
      BlockSource* const source = scratch.of(rank);
      ASSERT_NE(source, nullptr);
      test::WaitedTransfer read;
      source->read(runs_[rank], blocks[rank], buffer.data(), read.done());
      read.wait();
      source->open(runs_[rank], blocks[rank], buffer.data());
      EXPECT_EQ(static_cast<char>(buffer.data()[kBlock - 1]), static_cast<char>('a' + rank));
      buffer.data()[1] ^= std::byte{1};
      EXPECT_THROW(source->open(runs_[rank], blocks[rank], buffer.data()), Error);
    }
  });
}

TEST_F(LocalScratchTest, of_other_machines_there_is_nothing_to_read) {
  with_ranks(false, [&](Peers& peers, LocalScratch& scratch, const StoredBlock&) {
    for (unsigned rank = 0; rank < peers.ranks(); ++rank) {
      EXPECT_EQ(scratch.of(rank) != nullptr, rank == peers.rank());
      EXPECT_EQ(scratch.is_open_to(rank), rank == peers.rank());
    }
  });
}

}  // namespace
}  // namespace xxl
