#include "columns/arrow_module/large_blocks.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

namespace xxl::arrow_module {
namespace {

// In eight steps between powers of two: few sizes, and little is wasted.
std::size_t capacity_for(std::size_t bytes) {
  const std::size_t step = std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}

// Whether a block is used for so many bytes: little of it may be wasted, as that is not counted.
bool suits(std::size_t capacity, std::size_t bytes) {
  return bytes <= capacity && capacity <= bytes + bytes / 4;
}

}  // namespace

LargeBlocks::~LargeBlocks() {
  for (const auto& [capacity, block] : kept_) munmap(block, capacity);
}

void LargeBlocks::keep_at_most(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  most_kept_bytes_ = bytes;
  drop_kept();
}

// The largest first.
void LargeBlocks::drop_kept() {
  while (kept_bytes_ > most_kept_bytes_) {
    const auto largest = std::prev(kept_.end());
    munmap(largest->second, largest->first);
    kept_bytes_ -= largest->first;
    kept_.erase(largest);
  }
}

void* LargeBlocks::take(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  const auto kept = kept_.lower_bound(bytes);
  if (kept != kept_.end() && suits(kept->first, bytes)) {
    const auto [capacity, block] = *kept;
    kept_.erase(kept);
    kept_bytes_ -= capacity;
    capacities_.emplace(block, capacity);
    return block;
  }
  const std::size_t capacity = capacity_for(bytes);
  void* const block =
      mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return nullptr;
  capacities_.emplace(block, capacity);
  return block;
}

void LargeBlocks::give(void* block) {
  std::lock_guard lock(mutex_);
  const auto used = capacities_.find(block);
  const std::size_t capacity = used->second;
  capacities_.erase(used);
  kept_.emplace(capacity, block);
  kept_bytes_ += capacity;
  drop_kept();
}

void* LargeBlocks::resize(void* block, std::size_t bytes, std::size_t new_bytes) {
  {
    std::lock_guard lock(mutex_);
    if (suits(capacities_.at(block), new_bytes)) return block;
  }
  void* const moved = take(new_bytes);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, block, std::min(bytes, new_bytes));
  give(block);
  return moved;
}

}  // namespace xxl::arrow_module
