// The memory of Arrow's objects, counted.
#pragma once

#include <arrow/memory_pool.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "columns/arrow_module/large_blocks.h"

namespace xxl::arrow_module {

// All that reading and writing allocates of Arrow. From any thread.
class CountedPool : public ::arrow::MemoryPool {
 public:
  CountedPool();

  // More than this is refused, until it is set again. Where nothing is refused (kNoLimit), the last
  // one still bounds what is kept.
  void set_limit(std::uint64_t bytes);
  static constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62;
  // Whether so much would be refused now.
  ::arrow::Status check_room(std::int64_t bytes) const;

  using ::arrow::MemoryPool::Allocate;
  using ::arrow::MemoryPool::Free;
  using ::arrow::MemoryPool::Reallocate;
  ::arrow::Status Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) override;
  ::arrow::Status Reallocate(std::int64_t old_size, std::int64_t new_size, std::int64_t alignment,
                             std::uint8_t** ptr) override;
  void Free(std::uint8_t* buffer, std::int64_t size, std::int64_t alignment) override;
  void ReleaseUnused() override { below_.ReleaseUnused(); }

  std::int64_t bytes_allocated() const override { return now_bytes_; }
  std::int64_t max_memory() const override { return most_bytes_; }
  std::int64_t total_bytes_allocated() const override { return below_.total_bytes_allocated(); }
  std::int64_t num_allocations() const override { return below_.num_allocations(); }
  std::string backend_name() const override { return below_.backend_name(); }

 private:
  ::arrow::Status take(std::int64_t bytes);
  void limit_kept(std::int64_t now);

  ::arrow::Status allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out);
  void free(std::uint8_t* buffer, std::int64_t size, std::int64_t alignment);

  LargeBlocks large_;
  ::arrow::MemoryPool& below_ = *::arrow::system_memory_pool();  // of small pieces
  std::atomic<std::int64_t> limit_bytes_ = static_cast<std::int64_t>(kNoLimit);
  std::atomic<std::int64_t> budget_bytes_ = 0;  // the last limit that there was
  std::atomic<std::int64_t> now_bytes_ = 0;
  std::atomic<std::int64_t> most_bytes_ = 0;
};

// That of the module.
CountedPool& pool();

}  // namespace xxl::arrow_module
