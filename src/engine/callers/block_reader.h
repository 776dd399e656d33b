// Reads a file for a caller: in order, some blocks ahead.
//
//     [ headroom | block ]   a record that the block before had cut is completed in the headroom
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/in_flight.h"
#include "base/memory_region.h"
#include "base/monitor.h"
#include "io/file.h"
#include "io/io_queue.h"

namespace xxl {

// One thread.
class BlockReader {
 public:
  // From byte `begin` of `file`, which is open, to `end`, between which lie whole records of
  // `record_bytes`; all of a file that is not seekable. The references must outlive it.
  BlockReader(const io::File& file, std::uint64_t begin, std::uint64_t end,
              std::size_t record_bytes, std::size_t buffer_bytes, io::IoService& io);
  // Waits for reads under way; gives up those of pipes.
  ~BlockReader();

  // The next records, which stay until the next call. Empty at the end. Throws Error.
  std::span<const std::byte> next();

 private:
  struct Block {
    std::byte* memory = nullptr;  // after the headroom
    std::uint64_t offset = 0;
    std::size_t wanted = 0;
    bool done = false;  // with the monitor's lock
    io::Completion completion;
  };

  void issue();
  void issue_next();
  std::size_t wait(Block& block);

  const io::File& file_;
  io::IoService& io_;
  const std::size_t record_bytes_;
  const std::uint64_t end_;
  std::size_t block_bytes_;
  MemoryRegion memory_;
  std::vector<Block> blocks_;  // used in turns
  std::uint64_t issued_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t position_;         // of what is issued next
  std::size_t skip_;               // bytes of the first block that were not asked for
  std::span<std::byte> cut_ = {};  // of a record at the end of the block taken last
  Monitor monitor_;
  InFlight in_flight_;
};

}  // namespace xxl
