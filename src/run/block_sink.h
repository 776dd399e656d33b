// Where finished blocks go: a scratch run, a file, a stream, a join.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "run/run.h"

namespace xxl {

// A full block (the last one may be shorter), in a buffer of the output pool.
struct FinishedBlock {
  std::byte* buffer = nullptr;
  std::size_t bytes = 0;
  std::uint64_t index = 0;  // in the stream of blocks
};

// A sink returns the buffers of its blocks to the pool, through the coordinator, when it has
// finished with them; failures until then are thrown by the mailbox as Error.
class BlockSink {
 public:
  virtual ~BlockSink() = default;

  // Payload of a block in bytes.
  virtual std::size_t payload_bytes() const = 0;
  // The scratch run that is written; null: another place, which needs sorted records.
  virtual Run* run() { return nullptr; }
  // Takes a block; from any thread, each index once. Throws Error if it cannot.
  virtual void put(const FinishedBlock& block) = 0;
  // Blocks put and not finished. Coordinator only, as is what follows.
  std::size_t pending() const { return pending_; }
  // After the last put(), with nothing pending: completes what is left. Throws Error.
  virtual void finish() {}

 protected:
  std::atomic<std::size_t> pending_ = 0;
};

}  // namespace xxl
