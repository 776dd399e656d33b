// Large pieces of memory, of which some are kept for what is asked for next.
//
// Arrow makes, enlarges and frees buffers all the time. malloc either gives them back to the
// system at once, so that each page is cleared and faulted in again and again, or keeps many times
// what is used (and so do Arrow's own allocators).
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <unordered_map>

namespace xxl::arrow_module {

// From any thread.
class LargeBlocks {
 public:
  static constexpr std::size_t kLeastBytes = std::size_t{1} << 16;

  ~LargeBlocks();

  // From now on at most so many bytes are kept; at first none.
  void keep_at_most(std::size_t bytes);
  std::size_t kept_bytes() {
    std::lock_guard lock(mutex_);
    return kept_bytes_;
  }
  // Memory of `bytes`, at least kLeastBytes, aligned to pages; null if there is none.
  void* take(std::size_t bytes);
  // Gives back what take() or resize() gave.
  void give(void* block);
  // Makes `block` one of `new_bytes`, with the first `bytes` of its content; null, and it stays as
  // it is, if that fails.
  void* resize(void* block, std::size_t bytes, std::size_t new_bytes);

 private:
  void drop_kept();

  std::mutex mutex_;
  std::unordered_map<void*, std::size_t> capacities_;  // of blocks in use
  std::multimap<std::size_t, void*> kept_;             // by their capacities
  std::size_t kept_bytes_ = 0;
  std::size_t most_kept_bytes_ = 0;
};

}  // namespace xxl::arrow_module
