// Where finished blocks go: a scratch run, a file, a stream.
#pragma once

#include <cstddef>
#include <cstdint>

#include "run/run.h"

namespace xxl {

// A full block (the last one may be shorter), in a buffer of the output pool.
struct FinishedBlock {
  std::byte* buffer = nullptr;
  std::size_t bytes = 0;
  std::uint64_t index = 0;     // in the stream of blocks
  Trigger trigger;             // if the sink wants it
  std::uint64_t checksum = 0;  // likewise
};

// Coordinator thread only. A sink writes each block, gives its buffer back to the pool when that is
// done, and throws Error out of the mailbox when a write fails.
class BlockSink {
 public:
  virtual ~BlockSink() = default;

  // Payload of a block in bytes.
  virtual std::size_t payload_bytes() const = 0;
  // For scratch runs: what the blocks' checksums are seeded with; 0: no trigger or checksum wanted.
  virtual std::uint64_t run_identity() const = 0;
  // The scratch run that is written; null: another place, which wants sorted records.
  virtual Run* run() { return nullptr; }
  virtual void put(const FinishedBlock& block) = 0;
  // Writes that have not completed.
  virtual std::size_t pending() const = 0;
};

}  // namespace xxl
