// Memory for records that are few.
#pragma once

#include <cstddef>
#include <new>
#include <span>
#include <utility>

namespace xxl {

// Owns bytes at a multiple of `alignment`, a power of two. They have no values at first.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  AlignedBytes(std::size_t bytes, std::size_t alignment)
      : bytes_(static_cast<std::byte*>(::operator new(bytes, std::align_val_t(alignment)))),
        size_(bytes),
        alignment_(alignment) {}
  AlignedBytes(AlignedBytes&& other) noexcept { *this = std::move(other); }
  AlignedBytes& operator=(AlignedBytes&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
    std::swap(alignment_, other.alignment_);
    return *this;
  }
  ~AlignedBytes() {
    if (bytes_ != nullptr) ::operator delete(bytes_, std::align_val_t(alignment_));
  }

  std::span<std::byte> span() const { return {bytes_, size_}; }

 private:
  std::byte* bytes_ = nullptr;
  std::size_t size_ = 0;
  std::size_t alignment_ = 0;
};

}  // namespace xxl
