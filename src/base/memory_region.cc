#include "base/memory_region.h"

#include <malloc.h>
#include <sys/mman.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/memory_name.h"
#include "base/units.h"

namespace xxl {

MemoryRegion::MemoryRegion(std::size_t bytes) {
  constexpr std::size_t kHugePage = 2 * kMiB;
  const auto map = [&](std::size_t mapping_bytes) {
    mapping_bytes_ = mapping_bytes;
    mapping_ = mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return mapping_ != MAP_FAILED;
  };
  if (!map(round_up(bytes, kHugePage) + kHugePage) && !map(bytes)) {
    mapping_ = nullptr;
    throw Error(ErrorCode::no_space,
                "cannot get " + format_bytes(bytes) + " of memory: give a smaller " +
                    memory_name() + ", or allow more (ulimit -v, ulimit -d)",
                {}, Error::kNoOffset, errno);
  }
  bytes_ = bytes;
  data_ = static_cast<std::byte*>(mapping_);
  if (mapping_bytes_ == bytes) return;  // addresses are scarce (ulimit -v): no huge pages
  const auto address = reinterpret_cast<std::uintptr_t>(mapping_);
  data_ = reinterpret_cast<std::byte*>(round_up<std::uintptr_t>(address, kHugePage));
  madvise(data_, round_up(bytes, kHugePage), MADV_HUGEPAGE);
}

MemoryRegion::MemoryRegion(MemoryRegion&& other) noexcept {
  *this = std::move(other);
}

MemoryRegion& MemoryRegion::operator=(MemoryRegion&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapping_, other.mapping_);
  std::swap(mapping_bytes_, other.mapping_bytes_);
  return *this;
}

MemoryRegion::~MemoryRegion() {
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
}

void give_back_free_memory() {
#if !defined(__SANITIZE_ADDRESS__)  // has a heap of its own: that of the C library was never begun
  malloc_trim(0);
#endif
}

std::span<std::byte> Carver::take(std::size_t bytes, std::size_t alignment) {
  const std::size_t start = round_up(used_, alignment);
  XXL_CHECK(start + bytes <= memory_.size());
  used_ = start + bytes;
  return memory_.subspan(start, bytes);
}

}  // namespace xxl
