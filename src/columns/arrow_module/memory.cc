#include "columns/arrow_module/memory.h"

#include <arrow/status.h>
#include <malloc.h>

namespace xxl::arrow_module {
namespace {

constexpr int kMappedBytes = 1 << 20;

}  // namespace

::arrow::Status CountedPool::take(std::int64_t bytes) {
  const std::int64_t now = now_bytes_ += bytes;
  if (bytes > 0 && now > limit_bytes_) {
    now_bytes_ -= bytes;
    return ::arrow::Status::OutOfMemory("needs more memory than there is for files of columns: ",
                                        "give a larger -S");
  }
  for (std::int64_t most = most_bytes_; most < now;) {
    if (most_bytes_.compare_exchange_weak(most, now)) break;
  }
  return ::arrow::Status::OK();
}

::arrow::Status CountedPool::Allocate(std::int64_t size, std::int64_t alignment,
                                      std::uint8_t** out) {
  RETURN_NOT_OK(take(size));
  const ::arrow::Status status = below_.Allocate(size, alignment, out);
  if (!status.ok()) now_bytes_ -= size;
  return status;
}

::arrow::Status CountedPool::Reallocate(std::int64_t old_size, std::int64_t new_size,
                                        std::int64_t alignment, std::uint8_t** ptr) {
  RETURN_NOT_OK(take(new_size - old_size));
  const ::arrow::Status status = below_.Reallocate(old_size, new_size, alignment, ptr);
  if (!status.ok()) now_bytes_ -= new_size - old_size;
  return status;
}

void CountedPool::Free(std::uint8_t* buffer, std::int64_t size, std::int64_t alignment) {
  below_.Free(buffer, size, alignment);
  now_bytes_ -= size;
}

CountedPool::CountedPool() {
  // Larger pieces are mapped, and go back to the system at once. Left alone, malloc raises this to
  // whatever was freed last.
  mallopt(M_MMAP_THRESHOLD, kMappedBytes);
}

CountedPool& pool() {
  static CountedPool instance;
  return instance;
}

}  // namespace xxl::arrow_module
