// Feeds arrays in host memory to an engine, each as a chunk.
#pragma once

#include <cstddef>
#include <span>

#include "gpu/sort/chunk_engine.h"

namespace xxl::gpu {

class ArrayFeed {
 public:
  // `engine` must outlive it; `geometry` and `format` are the engine's.
  ArrayFeed(ChunkEngine& engine, const ChunkGeometry& geometry, const ChunkFormat& format);

  // Whole records, at least one, that fit into a chunk; they must stay as they are until they have
  // been copied. REQUIRES: wants_more().
  void begin(std::span<const std::byte> records);
  bool wants_more() const { return left_.empty(); }
  // Copies in what there is room for now.
  void pump();
  // Copies under way.
  std::size_t copies() const { return copies_; }

 private:
  std::size_t next_piece() const;

  ChunkEngine& engine_;
  const std::size_t piece_bytes_;  // most
  const std::size_t record_bytes_;
  const std::size_t tapered_bytes_;  // most of a chunk with pieces that taper off
  bool tapers_ = false;              // the last pieces are small
  std::span<const std::byte> left_;
  std::size_t copies_ = 0;
};

}  // namespace xxl::gpu
