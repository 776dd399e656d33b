// What the copies of xxl::resources share.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "io/io_queue.h"
#include "xxl/resources.h"

namespace xxl::detail {

class SharedResources {
 public:
  explicit SharedResources(std::uint64_t memory_bytes) : free_bytes_(memory_bytes) {}

  std::uint64_t free_bytes() const {
    std::lock_guard lock(mutex_);
    return free_bytes_;
  }
  // Of the memory. False, and nothing is taken, if less is free.
  bool take(std::uint64_t bytes) {
    std::lock_guard lock(mutex_);
    if (bytes > free_bytes_) return false;
    free_bytes_ -= bytes;
    return true;
  }
  void give_back(std::uint64_t bytes) {
    std::lock_guard lock(mutex_);
    free_bytes_ += bytes;
  }

  io::IoService::Factory queue_factory;  // if set, makes the I/O queues (tests)

 private:
  mutable std::mutex mutex_;
  std::uint64_t free_bytes_;
};

// What each user gets.
inline std::uint64_t equal_part(const resources& shared) {
  return shared.options().memory_bytes / shared.options().users;
}

// A part of the memory, until destruction.
class MemoryGrant {
 public:
  // Throws Error{no_space}.
  MemoryGrant(std::shared_ptr<SharedResources> shared, std::uint64_t bytes);
  ~MemoryGrant() { shared_->give_back(bytes_); }
  MemoryGrant(const MemoryGrant&) = delete;
  MemoryGrant& operator=(const MemoryGrant&) = delete;

  std::uint64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<SharedResources> shared_;
  std::uint64_t bytes_;
};

}  // namespace xxl::detail
