// Feeds arrays in host memory to an engine, each as a chunk.
#pragma once

#include <cstddef>
#include <span>

#include "gpu/sort/chunk_engine.h"

namespace xxl::gpu {

class ArrayFeed {
 public:
  // `engine` must outlive it; `geometry` is the engine's.
  ArrayFeed(ChunkEngine& engine, const ChunkGeometry& geometry, std::size_t record_bytes)
      : engine_(engine),
        piece_bytes_(geometry.piece_items * record_bytes),
        record_bytes_(record_bytes) {}

  // Whole records, at least one; they must stay as they are until they have been copied. REQUIRES:
  // wants_more().
  void begin(std::span<const std::byte> records) { left_ = records; }
  bool wants_more() const { return left_.empty(); }
  // Copies in what there is room for now.
  void pump();
  // Copies under way.
  std::size_t copies() const { return copies_; }

 private:
  ChunkEngine& engine_;
  const std::size_t piece_bytes_;  // most
  const std::size_t record_bytes_;
  std::span<const std::byte> left_;
  std::size_t copies_ = 0;
};

}  // namespace xxl::gpu
