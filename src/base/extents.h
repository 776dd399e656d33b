// Extents of memory of any size, taken from a few spans: for buffers of mostly, but not always, the
// same size.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "base/error.h"
#include "base/units.h"

namespace xxl {

// First fit; neighbouring free extents are joined. Not thread-safe. All sizes are rounded up to
// sectors, and the memory given must be aligned to them, so that every extent can be used for
// direct transfers.
class Extents {
 public:
  // Gives `memory` to the pool; its owner must keep it.
  void add(std::span<std::byte> memory) {
    if (memory.size() < kSectorBytes) return;
    const std::size_t bytes = round_down(memory.size(), kSectorBytes);
    total_ += bytes;
    free_bytes_ += bytes;
    insert(memory.data(), bytes);
  }

  // nullptr if there is no free extent of `bytes`.
  std::byte* take(std::size_t bytes) {
    bytes = round_up(bytes, kSectorBytes);
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second < bytes) continue;
      std::byte* const start = it->first;
      const std::size_t rest = it->second - bytes;
      free_.erase(it);
      if (rest > 0) free_.emplace(start + bytes, rest);
      free_bytes_ -= bytes;
      return start;
    }
    return nullptr;
  }
  // `bytes` as given to take().
  void give_back(std::byte* start, std::size_t bytes) {
    bytes = round_up(bytes, kSectorBytes);
    free_bytes_ += bytes;
    insert(start, bytes);
  }

  // Returns what is free to the system until it is written again: to allocate as much elsewhere
  // when the free extents are too small.
  void drop_pages() {
    for (const auto& [start, bytes] : free_) madvise(start, bytes, MADV_DONTNEED);
  }

  std::size_t total_bytes() const { return total_; }
  std::size_t free_bytes() const { return free_bytes_; }

 private:
  void insert(std::byte* start, std::size_t bytes) {
    auto next = free_.lower_bound(start);
    if (next != free_.begin()) {
      auto before = std::prev(next);
      XXL_CHECK(before->first + before->second <= start);
      if (before->first + before->second == start) {
        start = before->first;
        bytes += before->second;
        free_.erase(before);
      }
    }
    if (next != free_.end() && start + bytes == next->first) {
      bytes += next->second;
      free_.erase(next);
    }
    free_.emplace(start, bytes);
  }

  std::map<std::byte*, std::size_t> free_;
  std::size_t total_ = 0;
  std::size_t free_bytes_ = 0;
};

}  // namespace xxl
