// Blocks of runs that are in the scratch of other ranks: read there, or read by their owners and
// sent as they are stored, and checked and unpacked where they are merged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/in_flight.h"
#include "cluster/local_scratch.h"
#include "cluster/peers.h"
#include "cluster/run_slices.h"
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
  // Steps of all ranks. `own`: of this rank, with its blocks, which are complete. The references
  // must outlive it.
  RemoteBlocks(const io::ScratchStore& own, RunStore& own_blocks, io::IoService& io, Peers& peers)
      : scratch_(own, own_blocks, io, peers), peers_(peers) {}

  const LocalScratch& scratch() const { return scratch_; }
  // `slices`, which stay where they are, will be merged. Returns the bytes of those blocks that
  // come from other machines.
  template <class R>
  std::uint64_t add(const RunSlices<R>& slices) {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < slices.runs.size(); ++i) {
      origins_[&slices.runs[i]] = slices.origins[i];
      if (scratch_.of(slices.origins[i].rank) != nullptr) continue;
      for (const StoredBlock& block : slices.runs[i].blocks) bytes += block.stored_bytes;
    }
    return bytes;
  }

  unsigned disks() const override { return scratch_.disks(); }  // of others, it is for them
  void read(const StoredRun& run, const StoredBlock& block, std::byte* buffer, Done done) override;
  void open(const StoredRun& run, const StoredBlock& block, std::byte* buffer) const override;
  // A block at the end of a slice is needed by others, and nothing more is written to scratch.
  void release(const StoredRun&, const StoredBlock&) override {}

 private:
  const LocalScratch scratch_;
  Peers& peers_;
  std::unordered_map<const StoredRun*, SliceOrigin> origins_;
  InFlight in_flight_;
};

}  // namespace xxl
