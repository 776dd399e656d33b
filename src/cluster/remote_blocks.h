// Blocks of runs that are in the scratch of other ranks: read there, or read by their owners and
// sent as they are stored, and checked and unpacked where they are merged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <utility>

#include "base/in_flight.h"
#include "cluster/local_scratch.h"
#include "cluster/peers.h"
#include "cluster/sliced_blocks.h"
#include "io/buffer_pool.h"
#include "run/run_store.h"

namespace xxl {

// Of the memory, for blocks that are being sent.
inline constexpr std::uint64_t kSendingPart = 16;

// A block of a run of this rank.
struct OwnBlock {
  BlockSource& scratch;
  const StoredRun& run;
  const StoredBlock& block;
};
// Finds the one that other ranks call so. From any thread.
using OwnBlocks = std::function<OwnBlock(BlockName name)>;

// Gives this rank's blocks to others.
class ScratchServer final : public BlockServer {
 public:
  // `memory`: for the blocks being sent, of up to `block_bytes` each. All references must outlive
  // it.
  ScratchServer(OwnBlocks own, std::span<std::byte> memory, std::size_t block_bytes)
      : own_(std::move(own)), buffers_(memory, block_bytes) {}

  bool read(BlockName name, Ready ready) override;
  void give_back(std::span<std::byte> block) override;

 private:
  const OwnBlocks own_;
  std::mutex mutex_;
  io::BufferPool buffers_;
  InFlight in_flight_;
};

// Where a merge of slices gets its blocks.
class RemoteBlocks final : public BlockSource {
 public:
  // Blocks that are in `scratch` are read there. All references must outlive it.
  RemoteBlocks(SliceOrigins origins, const LocalScratch& scratch, Peers& peers)
      : origins_(std::move(origins)), scratch_(scratch), peers_(peers) {}

  unsigned disks() const override { return scratch_.disks(); }  // of others, it is for them
  void read(const StoredRun& run, const StoredBlock& block, std::byte* buffer, Done done) override;
  void open(const StoredRun& run, const StoredBlock& block, std::byte* buffer) const override;
  // A block at the end of a slice is needed by others, and nothing more is written to scratch.
  void release(const StoredRun&, const StoredBlock&) override {}

 private:
  const SliceOrigins origins_;
  const LocalScratch& scratch_;
  Peers& peers_;
  InFlight in_flight_;
};

}  // namespace xxl
