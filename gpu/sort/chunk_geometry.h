// How the memory of devices is divided for sorting chunks (chunk_engine.h).
//
// A device holds an arena for each chunk in progress: records by address from its front, sorted
// items from its back. All else exists once: places for pieces and slices on their way, and work
// areas of a piece and a batch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.h"
#include "gpu/device/device.h"
#include "gpu/sort/key_tables.h"

namespace xxl::gpu {

// What is sorted.
struct ChunkFormat {
  RecordShape shape;
  const KeyLayout* layout = nullptr;  // of fixed records by address
  bool text = false;
  bool descending = false;  // text: larger keys first
  char terminator = '\n';   // of text

  // Of records of a fixed size; `layout` must outlive the format.
  static ChunkFormat of(const KeyLayout& layout);
  // Of entries of text (key_view.h).
  static ChunkFormat of_text(bool descending, char terminator);
};

// Memory of each device. Numbers of bytes unless said otherwise.
struct ChunkGeometry {
  // Most pieces of a chunk, on all devices together: this many can be cut at once.
  static constexpr std::size_t kMaxPieces = 1024;

  std::size_t piece_items = 0;             // most of a piece, number
  std::size_t piece_bytes = 0;             // most of its records
  std::size_t batch_items = 0;             // number
  std::size_t device_pieces = kMaxPieces;  // most of a chunk on one device, number
  std::size_t slice_bytes = 0;             // copied out at once: at least a record
  unsigned landing_slots = 3;              // pieces on their way, number
  unsigned slice_slots = 3;                // slices on their way, number; more of small ones
  unsigned chunks = 1;                     // at a time: with 2, one arrives while one leaves
  std::uint64_t arena_bytes = 0;           // of a chunk on one device: records and sorted items

  // Divides `memory_bytes` of each of `devices` devices for chunks of up to `most_bytes` (all
  // devices together). `item_bytes`: bytes of a record, on average. Throws Error{no_space} that
  // says how much is needed if that is not enough.
  static ChunkGeometry plan(Device& device, std::size_t devices, const ChunkFormat& format,
                            double item_bytes, std::uint64_t memory_bytes, std::uint64_t most_bytes,
                            std::size_t slice_bytes, unsigned chunks);
  // Total of a device.
  std::uint64_t memory_bytes(Device& device, const ChunkFormat& format) const;
  // Records of `item_bytes` that a chunk can certainly hold on one device, in bytes.
  std::uint64_t capacity(const ChunkFormat& format, double item_bytes) const;
  // Of a place for a piece that arrives; 0 if it goes straight to the arena.
  std::size_t landing_bytes(const ChunkFormat& format) const;
  // Most that a piece takes of an arena.
  std::uint64_t arena_piece_bytes(const ChunkFormat& format) const;
  // For sorting and refining up to `items` items on `device`.
  static std::size_t scratch_bytes(Device& device, const ChunkFormat& format, std::size_t items);
};

}  // namespace xxl::gpu
