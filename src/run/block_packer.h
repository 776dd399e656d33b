// Makes scratch blocks smaller: by a codec, or by a program that the user names.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "io/codec.h"

namespace xxl {

// Compression and its buffers get at most this part of a job's memory; with very little memory they
// take more.
inline constexpr std::uint64_t kPackingPart = 4;

// From any thread.
class BlockPacker {
 public:
  BlockPacker() = default;  // leaves blocks as they are
  // Blocks of more than `most_bytes` stay as they are: this bounds their memory.
  BlockPacker(Codec codec, int level, std::size_t most_bytes)
      : codec_(codec), level_(level), most_bytes_(most_bytes) {}
  // Called once, by any thread, if a program cannot be run.
  using OnNoProgram = std::function<void(const Error&)>;
  // All blocks go through it: it may encrypt them. If it cannot be run, they stay as they are;
  // without `on_no_program`, that is an error.
  explicit BlockPacker(std::string program, OnNoProgram on_no_program = {})
      : program_(std::move(program)), on_no_program_(std::move(on_no_program)) {}

  bool packs() const { return codec_ != Codec::none || !program_.empty(); }
  // True if blocks of `bytes` are packed, or at least tried.
  bool takes(std::size_t bytes) const {
    return !program_.empty() || (codec_ != Codec::none && bytes <= most_bytes_);
  }
  // Slots of the scratch store for blocks of up to `block_bytes`, many of which are shorter or
  // packed.
  static std::size_t slot_bytes(std::size_t block_bytes);
  // Most memory that a thread needs.
  static std::size_t memory_bytes(Codec codec, int level, std::size_t most_bytes);

  // The packed `block`, valid until the thread packs or unpacks the next; empty: it stays as it is,
  // as packing would not save a slot of `slot_bytes`. Throws Error.
  std::span<const std::byte> pack(std::span<const std::byte> block, std::size_t slot_bytes) const;
  // Replaces what was packed, `packed_bytes` at `buffer`, by the block, `bytes` at the same place.
  // False if the sizes do not match. Throws Error.
  [[nodiscard]] bool unpack(std::byte* buffer, std::size_t packed_bytes, std::size_t bytes) const;

 private:
  Codec codec_ = Codec::none;
  int level_ = 0;
  std::size_t most_bytes_ = 0;
  std::string program_;
  OnNoProgram on_no_program_;
  std::shared_ptr<std::atomic<bool>> no_program_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace xxl
