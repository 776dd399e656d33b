// Memory and temporary files for containers larger than memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "xxl/export.h"
#include "xxl/resources.h"

namespace xxl::detail {

// A part of the memory of the resources, and blocks of it in temporary files. Transfers go on while
// the program does. Threads and files are made with the first block. For one thread at a time.
class ScratchBlocks {
 public:
  // `memory_bytes`: 0 for an equal part. Blocks hold several records of `record_bytes`.
  // `what`: "a priority queue", for messages. Throws Error{no_space}.
  XXL_API ScratchBlocks(const resources& shared, std::uint64_t memory_bytes,
                        std::size_t record_bytes, const char* what);
  XXL_API ~ScratchBlocks();
  ScratchBlocks(const ScratchBlocks&) = delete;
  ScratchBlocks& operator=(const ScratchBlocks&) = delete;

  // A multiple of 4096.
  XXL_API std::size_t block_bytes() const;
  // The memory of this container: at least kLeastBlocks blocks. No page of it has been used.
  XXL_API std::span<std::byte> memory() const;
  static constexpr std::size_t kLeastBlocks = 64;

  // Begins to write the first `bytes` of `block`, which has block_bytes() of memory(). Returns its
  // number. Its content may change. Throws Error, as do the others.
  XXL_API std::uint32_t write(std::byte* block, std::size_t bytes);
  // Waits until its memory may be used again.
  XXL_API void wait_written(std::uint32_t number);
  // Begins to read the block into block_bytes() of memory().
  XXL_API void read(std::uint32_t number, std::byte* block);
  // Waits until the block has been read, and checks it. Throws Error{corrupt} if it is not what was
  // written.
  XXL_API void wait_read(std::uint32_t number);
  // The block is not read again: its file space and number are free.
  XXL_API void release(std::uint32_t number);

 private:
  class Files;
  std::unique_ptr<Files> files_;
};

}  // namespace xxl::detail
