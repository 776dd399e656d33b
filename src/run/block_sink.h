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

// A sink has the buffers of its blocks given back to the pool, by the coordinator, when it has done
// with them; what goes wrong until then comes out of the mailbox as an Error.
class BlockSink {
 public:
  virtual ~BlockSink() = default;

  // Payload of a block in bytes.
  virtual std::size_t payload_bytes() const = 0;
  // The scratch run that is written; null: another place, which wants sorted records.
  virtual Run* run() { return nullptr; }
  // Takes a block; from any thread, each index once. Throws Error if it cannot.
  virtual void put(const FinishedBlock& block) = 0;
  // Blocks put that it has not done with. Coordinator only, as what follows.
  std::size_t pending() const { return pending_; }
  // After the last put(), with nothing pending: waits for what else there is to do. Throws Error.
  virtual void finish() {}

 protected:
  std::atomic<std::size_t> pending_ = 0;
};

}  // namespace xxl
