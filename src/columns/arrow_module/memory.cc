#include "columns/arrow_module/memory.h"

#include <arrow/status.h>
#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace xxl::arrow_module {
namespace {

// Of what was freed, whatever is in use:
constexpr std::int64_t kLeastKeptBytes = std::int64_t{4} << 20;
constexpr std::int64_t kMostKeptBytes = std::int64_t{64} << 20;
// What malloc keeps; contexts of codecs are smaller.
constexpr int kMostMallocBytes = 2 << 20;

bool is_large(std::int64_t size) {
  return size >= static_cast<std::int64_t>(LargeBlocks::kLeastBytes);
}

::arrow::Status too_much() {
  return ::arrow::Status::OutOfMemory("needs more memory than there is for files of columns: ",
                                      "give a larger -S");
}

}  // namespace

// What is not in use may be kept, within what all may take.
void CountedPool::limit_kept(std::int64_t now) {
  const std::int64_t most = std::clamp(budget_bytes_ - now, kLeastKeptBytes, kMostKeptBytes);
  large_.keep_at_most(static_cast<std::size_t>(most));
}

void CountedPool::set_limit(std::uint64_t bytes) {
  limit_bytes_ = static_cast<std::int64_t>(bytes);
  if (bytes != kNoLimit) budget_bytes_ = limit_bytes_.load();
  limit_kept(now_bytes_);
}

::arrow::Status CountedPool::check_room(std::int64_t bytes) const {
  if (now_bytes_ + bytes > limit_bytes_) return too_much();
  return ::arrow::Status::OK();
}

::arrow::Status CountedPool::take(std::int64_t bytes) {
  const std::int64_t now = now_bytes_ += bytes;
  if (bytes > 0 && now > limit_bytes_) {
    now_bytes_ -= bytes;
    return too_much();
  }
  for (std::int64_t most = most_bytes_; most < now;) {
    if (most_bytes_.compare_exchange_weak(most, now)) break;
  }
  if (is_large(bytes)) limit_kept(now);
  return ::arrow::Status::OK();
}

::arrow::Status CountedPool::allocate(std::int64_t size, std::int64_t alignment,
                                      std::uint8_t** out) {
  if (!is_large(size)) return below_.Allocate(size, alignment, out);
  *out = static_cast<std::uint8_t*>(large_.take(static_cast<std::size_t>(size)));
  return *out != nullptr ? ::arrow::Status::OK() : ::arrow::Status::OutOfMemory("out of memory");
}

void CountedPool::free(std::uint8_t* buffer, std::int64_t size, std::int64_t alignment) {
  if (!is_large(size)) return below_.Free(buffer, size, alignment);
  large_.give(buffer);
}

::arrow::Status CountedPool::Allocate(std::int64_t size, std::int64_t alignment,
                                      std::uint8_t** out) {
  RETURN_NOT_OK(take(size));
  const ::arrow::Status status = allocate(size, alignment, out);
  if (!status.ok()) now_bytes_ -= size;
  return status;
}

::arrow::Status CountedPool::Reallocate(std::int64_t old_size, std::int64_t new_size,
                                        std::int64_t alignment, std::uint8_t** ptr) {
  RETURN_NOT_OK(take(new_size - old_size));
  ::arrow::Status status;
  if (is_large(old_size) && is_large(new_size)) {
    void* const moved =
        large_.resize(*ptr, static_cast<std::size_t>(old_size), static_cast<std::size_t>(new_size));
    if (moved == nullptr) status = ::arrow::Status::OutOfMemory("out of memory");
    if (moved != nullptr) *ptr = static_cast<std::uint8_t*>(moved);
  } else if (!is_large(old_size) && !is_large(new_size)) {
    status = below_.Reallocate(old_size, new_size, alignment, ptr);
  } else {
    std::uint8_t* moved = nullptr;
    status = allocate(new_size, alignment, &moved);
    if (status.ok()) {
      std::memcpy(moved, *ptr, static_cast<std::size_t>(std::min(old_size, new_size)));
      free(*ptr, old_size, alignment);
      *ptr = moved;
    }
  }
  if (!status.ok()) now_bytes_ -= new_size - old_size;
  return status;
}

void CountedPool::Free(std::uint8_t* buffer, std::int64_t size, std::int64_t alignment) {
  free(buffer, size, alignment);
  now_bytes_ -= size;
}

CountedPool::CountedPool() {
  // What does not come here (contexts of codecs, above all) is kept by malloc up to this, and
  // larger pieces go back to the system at once. Left alone, it keeps less, and makes pieces of up
  // to 32 MiB part of what it keeps.
  mallopt(M_MMAP_THRESHOLD, kMostMallocBytes);
  mallopt(M_TRIM_THRESHOLD, kMostMallocBytes);
}

CountedPool& pool() {
  static CountedPool instance;
  return instance;
}

}  // namespace xxl::arrow_module
