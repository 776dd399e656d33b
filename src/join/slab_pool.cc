#include "join/slab_pool.h"

#include "base/error.h"

namespace xxl {

SlabPool::SlabPool(std::span<std::byte> memory, std::size_t slab_bytes)
    : slab_bytes_(slab_bytes),
      count_((memory.size() - 64) / (slab_bytes + sizeof(SlabId))),
      memory_(memory.data()) {
  XXL_CHECK(count_ < kNoSlab);
  const std::size_t links_at = (count_ * slab_bytes + sizeof(SlabId) - 1) & ~(sizeof(SlabId) - 1);
  links_ = reinterpret_cast<SlabId*>(memory.data() + links_at);
}

SlabId SlabPool::take(std::size_t count, SlabId tail) {
  std::lock_guard lock(mutex_);
  if (free_count_ + (count_ - untouched_) < count) return kNoSlab;
  SlabId first = kNoSlab;
  for (std::size_t i = 0; i < count; ++i) {
    SlabId slab;
    if (free_ != kNoSlab) {
      slab = free_;
      free_ = links_[slab];
      --free_count_;
    } else {
      slab = static_cast<SlabId>(untouched_++);
    }
    links_[slab] = kNoSlab;
    if (tail != kNoSlab) links_[tail] = slab;
    if (first == kNoSlab) first = slab;
    tail = slab;
  }
  return first;
}

void SlabPool::give_back(SlabId head) {
  std::lock_guard lock(mutex_);
  while (head != kNoSlab) {
    const SlabId next = links_[head];
    links_[head] = free_;
    free_ = head;
    ++free_count_;
    head = next;
  }
}

}  // namespace xxl
