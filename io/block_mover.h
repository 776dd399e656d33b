// Moves blocks from one file to another as fast as the disks allow: for measuring disks.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>

#include "io/io_queue.h"

namespace xxl::io {

class BlockMover {
 public:
  using Clock = std::chrono::steady_clock;

  struct Move {
    // Without a source, the current content of the buffers is written; without a target, what was
    // read is dropped. The target is written from its start.
    const File* source = nullptr;
    const File* target = nullptr;
    std::uint64_t bytes = 0;
    // Reading starts at `source_start` (a multiple of the block size) and continues at 0 when it
    // reaches `source_bytes`.
    std::uint64_t source_start = 0;
    std::uint64_t source_bytes = 0;
    // After this, no new block is begun.
    Clock::time_point deadline = Clock::time_point::max();
  };

  // Keeps one transfer in flight for each block that fits into `memory` (aligned to kSectorBytes).
  BlockMover(IoService& service, std::span<std::byte> memory, std::size_t block_bytes);

  // Returns the bytes moved. Throws Error{io} after a transfer failed.
  std::uint64_t move(const Move& move);

 private:
  struct Failure {
    int error = 0;
    Op op = Op::read;
    const File* file = nullptr;
    std::uint64_t offset = 0;
  };

  // What happens to a buffer: next_block(), read(), write(), and again, until nothing is left.
  void next_block(std::span<std::byte> buffer);
  void read(std::uint64_t place, std::span<std::byte> buffer);
  void write(std::uint64_t place, std::span<std::byte> buffer);
  void retire();
  void fail(const Failure& failure);
  std::size_t bytes_at(std::uint64_t place) const;

  IoService& service_;
  const std::span<std::byte> memory_;
  const std::size_t block_bytes_;

  std::mutex mutex_;
  std::condition_variable all_retired_;
  Move move_;
  std::uint64_t next_place_ = 0;
  std::size_t buffers_at_work_ = 0;
  Failure failure_;
};

}  // namespace xxl::io
