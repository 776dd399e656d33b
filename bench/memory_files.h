// The content of files whose bytes lie in memory: what an array made of memory stores
// (bench/README.md).
//
// Files are known by device and inode, so that it does not matter by which File they are open. All
// memory is taken and touched when the store is made; extents are handed out as files are written.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/memory_region.h"
#include "base/units.h"
#include "io/file.h"
#include "io/io_queue.h"

namespace xxl::bench {

// How bytes are copied.
enum class CopyKind {
  cached,     // memcpy
  streaming,  // past the caches, as most DMA
};

void copy_bytes(CopyKind kind, std::byte* to, const std::byte* from, std::size_t bytes);

// Equal parts of memory. From any thread.
class ExtentPool {
 public:
  static constexpr std::size_t kExtentBytes = 2 * kMiB;

  // Touches `bytes`, in whole extents, by `threads` threads.
  ExtentPool(std::uint64_t bytes, unsigned threads);

  std::byte* take();  // null if there is none
  void give_back(std::byte* extent);
  std::size_t free_extents() const;

 private:
  MemoryRegion memory_;
  mutable std::mutex mutex_;
  std::vector<std::byte*> free_;
};

// One file. Reads and writes from any thread, but no write of bytes that are being read or written.
class MemoryFile {
 public:
  MemoryFile(ExtentPool& pool, CopyKind copy) : pool_(pool), copy_(copy) {}
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  // Reads end here, as at the end of a file that has been written; without, what was never written
  // reads as zeros. Before the first read.
  void set_size(std::uint64_t bytes) { size_ = bytes; }
  // With a size: every byte will be read once, and extents that have been read are given back.
  void forget_what_was_read() { forgets_ = true; }

  io::Completion read(std::uint64_t offset, std::span<std::byte> to);
  // ENOSPC without memory.
  io::Completion write(std::uint64_t offset, std::span<const std::byte> from);

 private:
  static constexpr std::size_t kExtentBytes = ExtentPool::kExtentBytes;
  struct Extent {
    std::byte* memory = nullptr;
    std::size_t bytes_read = 0;
  };

  std::byte* find(std::size_t index) const;
  std::byte* find_or_take(std::size_t index);
  void note_read(std::size_t index, std::size_t bytes);

  ExtentPool& pool_;
  const CopyKind copy_;
  std::optional<std::uint64_t> size_;
  bool forgets_ = false;
  mutable std::mutex mutex_;
  std::vector<Extent> extents_;
};

// From any thread.
class MemoryFiles {
 public:
  // REQUIRES: the pool outlives it.
  explicit MemoryFiles(ExtentPool& pool, CopyKind copy = CopyKind::cached)
      : pool_(pool), copy_(copy) {}

  // The content of this file, which is empty until it is written.
  MemoryFile& of(dev_t device, ino_t inode);
  MemoryFile& of(const io::File& file) { return of(file.device(), file.inode()); }
  // These forget all other files, or all. REQUIRES: nothing is under way.
  void keep_only(const io::File& file);
  void clear() { files_.clear(); }

 private:
  using Id = std::pair<dev_t, ino_t>;

  ExtentPool& pool_;
  const CopyKind copy_;
  std::mutex mutex_;
  std::map<Id, std::unique_ptr<MemoryFile>> files_;
};

}  // namespace xxl::bench
