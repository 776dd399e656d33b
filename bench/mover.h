// Moves the bytes of files through io/ and nothing else: the bounds of sorts and joins.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/memory_region.h"
#include "base/random.h"
#include "base/units.h"
#include "io/block_mover.h"

namespace xxl::bench {

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Buffers full of noise, and the queues to move them.
class Mover {
 public:
  // `depth`: transfers in flight for each disk, of the source and of the target.
  Mover(std::size_t block_bytes, unsigned depth)
      : block_bytes_(block_bytes),
        memory_(block_bytes * 2 * depth),
        service_(Backend::automatic, {}, depth) {
    Random random(1);
    auto* const words = reinterpret_cast<std::uint64_t*>(memory_.data());
    for (std::size_t i = 0; i < memory_.size() / sizeof *words; ++i) words[i] = random();
  }
  // Without a source the noise is written, without a target what is read is dropped.
  void move(const io::File* source, io::File* target, std::uint64_t bytes) {
    if (bytes == 0) return;
    if (target != nullptr) target->reserve(0, round_up(bytes, std::uint64_t{kSectorBytes}));
    io::BlockMover mover(service_, memory_.span(), block_bytes_);
    mover.move({.source = source,
                .target = target,
                .bytes = bytes,
                .source_bytes = round_up(bytes, std::uint64_t{block_bytes_})});
  }

 private:
  std::size_t block_bytes_;
  MemoryRegion memory_;
  io::IoService service_;
};

}  // namespace xxl::bench
