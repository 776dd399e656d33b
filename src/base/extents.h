// Extents of memory of any size, taken from a few spans: for buffers of mostly, but not always, the
// same size.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/units.h"

namespace xxl {

// First fit; neighbouring free extents are joined. Not thread-safe. All sizes are rounded up to
// sectors, and the memory given must be aligned to them, so that every extent can be used for
// direct transfers. give_back() allocates nothing, so that a transfer's end may call it.
class Extents {
 public:
  // Gives `memory` to the pool; its owner must keep it.
  void add(std::span<std::byte> memory) {
    if (memory.size() < kSectorBytes) return;
    const std::size_t bytes = round_down(memory.size(), kSectorBytes);
    reserve_one_more();
    total_ += bytes;
    free_bytes_ += bytes;
    insert(memory.data(), bytes);
  }

  // nullptr if there is no free extent of `bytes`.
  std::byte* take(std::size_t bytes) {
    bytes = round_up(bytes, kSectorBytes);
    const auto it =
        std::find_if(free_.begin(), free_.end(), [&](Extent e) { return e.bytes >= bytes; });
    if (it == free_.end()) return nullptr;
    const auto place = it - free_.begin();
    reserve_one_more();
    Extent& extent = free_[static_cast<std::size_t>(place)];
    std::byte* const start = extent.start;
    extent.start += bytes;
    extent.bytes -= bytes;
    if (extent.bytes == 0) free_.erase(free_.begin() + place);
    free_bytes_ -= bytes;
    return start;
  }
  // `bytes` as given to take().
  void give_back(std::byte* start, std::size_t bytes) {
    bytes = round_up(bytes, kSectorBytes);
    --most_;
    free_bytes_ += bytes;
    insert(start, bytes);
  }

  // Returns what is free to the system until it is written again: to allocate as much elsewhere
  // when the free extents are too small.
  void drop_pages() {
    for (const Extent& extent : free_) madvise(extent.start, extent.bytes, MADV_DONTNEED);
  }

  std::size_t total_bytes() const { return total_; }
  std::size_t free_bytes() const { return free_bytes_; }

 private:
  struct Extent {
    std::byte* start;
    std::size_t bytes;
  };

  // Each extent that is given or taken may become a free one of its own.
  void reserve_one_more() {
    if (++most_ > free_.capacity()) free_.reserve(2 * most_);
  }

  void insert(std::byte* start, std::size_t bytes) noexcept {
    auto next = std::lower_bound(free_.begin(), free_.end(), start,
                                 [](const Extent& e, std::byte* p) { return e.start < p; });
    if (next != free_.begin()) {
      const auto before = std::prev(next);
      XXL_CHECK(before->start + before->bytes <= start);
      if (before->start + before->bytes == start) {
        before->bytes += bytes;
        if (next != free_.end() && before->start + before->bytes == next->start) {
          before->bytes += next->bytes;
          free_.erase(next);
        }
        return;
      }
    }
    if (next != free_.end() && start + bytes == next->start) {
      *next = {start, bytes + next->bytes};
      return;
    }
    free_.insert(next, {start, bytes});
  }

  std::vector<Extent> free_;  // by address
  std::size_t most_ = 0;      // that there may be: those given, and those taken now
  std::size_t total_ = 0;
  std::size_t free_bytes_ = 0;
};

}  // namespace xxl
