// Where the blocks of runs lie between being written and being merged: in one or more slots of the
// scratch store each, perhaps packed (compressed), with a checksum of what is stored.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/in_flight.h"
#include "base/units.h"
#include "io/io_queue.h"
#include "io/scratch_store.h"
#include "run/block_packer.h"

namespace xxl {

// A block in scratch, as its run remembers it.
struct StoredBlock {
  std::uint64_t checksum = 0;      // of what is stored
  std::uint32_t bytes = 0;         // of its records
  std::uint32_t stored_bytes = 0;  // in scratch
  std::uint32_t places = 1;        // in the scratch store
  io::ScratchPlace place;  // the only one; of several the first: StoredRun::places[place.slot]
  bool packed = false;     // what is stored must be unpacked
};

// What the blocks of a run have in common.
struct StoredRun {
  std::vector<io::ScratchPlace> places;     // of blocks that have several
  std::optional<io::ScratchStripe> stripe;  // deals its blocks out to the disks

  std::span<const io::ScratchPlace> places_of(const StoredBlock& block) const {
    if (block.places == 1) return {&block.place, 1};
    return std::span(places).subspan(block.place.slot, block.places);
  }
};

// Throws Error{corrupt}: what was read at `offset` of scratch is not what was written.
[[noreturn]] void throw_not_as_written(const std::string& directory, std::uint64_t offset);

// Where a merge gets the blocks of runs from: scratch, or other machines that have them there. From
// any thread; the blocks of one run also from several at a time.
class BlockSource {
 public:
  // Called once, on another thread, when a transfer has ended: with null, or with an Error. Must be
  // short and must not throw.
  using Done = std::function<void(std::exception_ptr failure)>;

  virtual ~BlockSource() = default;
  // Whose numbers the places of blocks have.
  virtual unsigned disks() const = 0;
  // Bytes of a buffer for a block of `bytes`; for reading a block.
  static std::size_t buffer_bytes(std::size_t bytes) { return round_up(bytes, kSectorBytes); }
  static std::size_t buffer_bytes(const StoredBlock& block) {
    return buffer_bytes(std::max(block.bytes, block.stored_bytes));
  }
  // Reads what is stored of `block` into `buffer` of buffer_bytes(block).
  virtual void read(const StoredRun& run, const StoredBlock& block, std::byte* buffer,
                    Done done) = 0;
  // Turns what was read into `buffer` into the records of `block`. Throws Error{corrupt} unless it
  // is what was written.
  virtual void open(const StoredRun& run, const StoredBlock& block, std::byte* buffer) const = 0;
  // The block has been read for the last time.
  virtual void release(const StoredRun& run, const StoredBlock& block) = 0;
};

// In scratch.
class RunStore final : public BlockSource {
 public:
  // The references must outlive it. Blocks are packed by `packer`. Those that are packed, or
  // shorter than others, take less space only if slots are smaller than blocks.
  RunStore(io::ScratchStore& scratch, io::IoService& io, BlockPacker packer = {})
      : scratch_(scratch), io_(io), packer_(std::move(packer)) {}

  std::size_t slot_bytes() const { return scratch_.block_bytes(); }
  unsigned disks() const override { return scratch_.disks(); }
  const BlockPacker& packer() const { return packer_; }

  // Writes the first `bytes` of `buffer` as a block of `run`, with the rest up to
  // buffer_bytes(). The content of the buffer may change. Returns the block's description. Throws
  // Error if the block cannot be packed or there is no space.
  StoredBlock write(StoredRun& run, std::byte* buffer, std::size_t bytes, Done done);
  // For blocks that are written some slots at a time: allocates the place of `parts`, stored
  // consecutively and unpacked.
  StoredBlock place(StoredRun& run, std::initializer_list<std::span<const std::byte>> parts);
  // Writes `data`, a multiple of kSectorBytes, to its slots from `first_slot` on.
  void write_slots(const StoredRun& run, const StoredBlock& block, std::size_t first_slot,
                   std::span<std::byte> data, Done done);

  void read(const StoredRun& run, const StoredBlock& block, std::byte* buffer, Done done) override;
  void open(const StoredRun& run, const StoredBlock& block, std::byte* buffer) const override;
  // Its place will be written again.
  void release(const StoredRun& run, const StoredBlock& block) override;

 private:
  void allocate(StoredRun& run, StoredBlock& block);
  void transfer(io::Op op, const std::vector<io::ScratchPlace>& places, std::size_t bytes,
                std::byte* buffer, Done done);
  io::Request request(io::Op op, io::ScratchPlace where, std::span<std::byte> data, Done done);
  std::vector<io::ScratchPlace> places_of(const StoredRun& run, const StoredBlock& block) const;

  io::ScratchStore& scratch_;
  io::IoService& io_;
  BlockPacker packer_;
  mutable std::mutex mutex_;  // of the tables of runs being written
  InFlight in_flight_;
};

}  // namespace xxl
