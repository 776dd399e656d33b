// One large region of memory from the operating system, for the memory budget.
#pragma once

#include <cstddef>
#include <span>

namespace xxl {

// Owns `bytes` of anonymous memory, in huge pages where the system gives them, else in pages of any
// place. The memory is zero and is not touched: pages are taken as they are first used.
class MemoryRegion {
 public:
  MemoryRegion() = default;
  // Throws Error{no_space} when the system refuses.
  explicit MemoryRegion(std::size_t bytes);
  MemoryRegion(MemoryRegion&& other) noexcept;
  MemoryRegion& operator=(MemoryRegion&& other) noexcept;
  ~MemoryRegion();

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }
  std::span<std::byte> span() const { return {data_, bytes_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  void* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
};

// Returns freed memory that malloc keeps to the system; called between phases, when many threads
// have freed small pieces.
void give_back_free_memory();

// Hands out consecutive pieces of a span, each aligned; for dividing the budget at start.
class Carver {
 public:
  explicit Carver(std::span<std::byte> memory) : memory_(memory) {}

  // The next `bytes` at a multiple of `alignment` bytes. CHECKs that they are there.
  std::span<std::byte> take(std::size_t bytes, std::size_t alignment = 4096);
  std::size_t remaining() const { return memory_.size() - used_; }

 private:
  std::span<std::byte> memory_;
  std::size_t used_ = 0;
};

}  // namespace xxl
