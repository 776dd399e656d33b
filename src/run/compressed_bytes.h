// Output that is compressed: a file or stream of frames, one for each block.
//
//     worker 1   block 4 ──compress──▶ frame 4 ┐
//     worker 2   block 2 ──compress──▶ frame 2 ┼─ in order ─▶ [frame 0][frame 1][frame 2] ...
//     worker 3   block 3 ──compress──▶ frame 3 ┘
//
// Blocks come in any order; the thread that fills one compresses it. A frame that comes early is
// kept until those before it are there; its block's buffer is free at once, so threads that still
// fill earlier blocks get buffers. When much is kept, threads with later frames wait. The next
// frame in order never waits, so there is always progress.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>

#include "base/in_flight.h"
#include "base/monitor.h"
#include "io/codec.h"
#include "run/byte_sink.h"

namespace xxl {

class CompressedBytes final : public ByteSink {
 public:
  // `file` is a stream, or is written without O_DIRECT. At most `most_kept_bytes` of frames are
  // kept, and one more for each thread. The references must outlive it.
  CompressedBytes(const io::File& file, Codec codec, int level, std::size_t most_kept_bytes,
                  io::IoService& io, Monitor& monitor)
      : codec_(codec),
        level_(level),
        most_kept_bytes_(most_kept_bytes),
        monitor_(monitor),
        frames_(file, io) {}

  // Most memory that `threads` threads need for blocks of `block_bytes`, without kept frames.
  static std::size_t memory_bytes(Codec codec, int level, std::size_t block_bytes,
                                  unsigned threads);

  bool in_order() const override { return false; }
  void put(std::uint64_t index, std::byte* buffer, std::size_t bytes, Done done) override;
  void finish() override;
  void give_up() override { frames_.give_up(); }

 private:
  const Codec codec_;
  const int level_;
  const std::size_t most_kept_bytes_;
  Monitor& monitor_;
  // With the monitor's lock:
  std::size_t unwritten_ = 0;      // frames, from the start of put() on
  std::size_t kept_bytes_ = 0;     // of those that have come
  std::uint64_t next_ = 0;         // all frames before have come
  std::set<std::uint64_t> early_;  // frames after next_ that have come
  InFlight in_flight_;
  StreamBytes frames_;
};

}  // namespace xxl
