#include "columns/arrow_module/large_blocks.h"

#include <sys/mman.h>

#include <bit>

namespace xxl::arrow_module {
namespace {

// In eight steps between powers of two: few sizes, and little is wasted.
std::size_t capacity_for(std::size_t bytes) {
  const std::size_t step = std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}

}  // namespace

LargeBlocks::~LargeBlocks() {
  for (const auto& [capacity, blocks] : kept_) {
    for (void* const block : blocks) munmap(block, capacity);
  }
}

void* LargeBlocks::take(std::size_t bytes) {
  const std::size_t capacity = capacity_for(bytes);
  {
    std::lock_guard lock(mutex_);
    const auto kept = kept_.find(capacity);
    if (kept != kept_.end() && !kept->second.empty()) {
      void* const block = kept->second.back();
      kept->second.pop_back();
      kept_bytes_ -= capacity;
      return block;
    }
  }
  void* const block =
      mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return block != MAP_FAILED ? block : nullptr;
}

void LargeBlocks::give(void* block, std::size_t bytes) {
  const std::size_t capacity = capacity_for(bytes);
  {
    std::lock_guard lock(mutex_);
    if (kept_bytes_ + capacity <= kMostKeptBytes) {
      kept_[capacity].push_back(block);
      kept_bytes_ += capacity;
      return;
    }
  }
  munmap(block, capacity);
}

void* LargeBlocks::resize(void* block, std::size_t bytes, std::size_t new_bytes) {
  const std::size_t capacity = capacity_for(bytes);
  const std::size_t new_capacity = capacity_for(new_bytes);
  if (capacity == new_capacity) return block;
  void* const moved = mremap(block, capacity, new_capacity, MREMAP_MAYMOVE);
  return moved != MAP_FAILED ? moved : nullptr;
}

}  // namespace xxl::arrow_module
