// Writes what a caller fills: in order, some blocks behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/in_flight.h"
#include "base/memory_region.h"
#include "base/monitor.h"
#include "run/byte_sink.h"

namespace xxl {

// One thread.
class BlockWriter {
 public:
  static constexpr std::size_t kBlockBytes = std::size_t{1} << 20;  // of all blocks but the last

  // `sink` takes blocks of kBlockBytes; it must outlive this, which gives it up unless finish() was
  // called.
  BlockWriter(ByteSink& sink, std::size_t buffer_bytes, Monitor& monitor);
  ~BlockWriter();

  // The memory of the next block, to be filled. The one before is full. Throws Error.
  std::span<std::byte> room();
  // The block before is the last, and has `bytes`. Waits until all is written. Throws Error.
  void finish(std::size_t bytes);

  // In all.
  std::uint64_t bytes() const { return bytes_; }

 private:
  void hand_on(std::size_t bytes);
  void wait_for_blocks(std::size_t count);

  ByteSink& sink_;
  Monitor& monitor_;
  MemoryRegion memory_;
  const std::size_t blocks_;
  std::byte* filled_ = nullptr;  // by the caller
  std::uint64_t index_ = 0;
  std::uint64_t bytes_ = 0;
  bool finished_ = false;
  std::vector<std::byte*> free_;  // with the monitor's lock
  InFlight in_flight_;
};

}  // namespace xxl
