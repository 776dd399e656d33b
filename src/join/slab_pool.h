// Memory for records that wait in partitions: equal slabs, linked into chains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

namespace xxl {

using SlabId = std::uint32_t;
inline constexpr SlabId kNoSlab = ~SlabId{0};

// A slab holds a whole number of records without gaps. All but the last slab of a chain are full.
// The memory belongs to the caller. take() and give_back() may be called from any thread.
class SlabPool {
 public:
  // Bytes of memory that `slabs` slabs need.
  static std::size_t memory_bytes(std::size_t slabs, std::size_t slab_bytes) {
    return slabs * (slab_bytes + sizeof(SlabId)) + 64;
  }

  SlabPool(std::span<std::byte> memory, std::size_t slab_bytes);

  std::size_t slab_bytes() const { return slab_bytes_; }
  std::size_t count() const { return count_; }

  std::byte* data(SlabId slab) const { return memory_ + slab * slab_bytes_; }
  // The slab after `slab` in its chain. Only the owner of the records of both may read the link.
  SlabId next(SlabId slab) const { return links_[slab]; }

  // A new chain of `count` slabs, 0 < count, ended by kNoSlab, or kNoSlab if there are too few. The
  // chain is appended to slab `tail` unless that is kNoSlab. Returns its first slab.
  SlabId take(std::size_t count, SlabId tail);
  // Gives back the chain that starts with `head`.
  void give_back(SlabId head);

 private:
  std::size_t slab_bytes_;
  std::size_t count_;
  std::byte* memory_;
  SlabId* links_;
  std::mutex mutex_;
  SlabId free_ = kNoSlab;  // chain of slabs given back
  std::size_t free_count_ = 0;
  std::size_t untouched_ = 0;  // slabs from here on were never used
};

}  // namespace xxl
