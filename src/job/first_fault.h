// Chunks of the input are checked in parallel, and several may be malformed: the fault that ends a
// sort is the first of the input, not the first that was found.
#pragma once

#include <cstdint>
#include <exception>
#include <mutex>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/monitor.h"

namespace xxl {

// Holds a fault back until all chunks before it have been checked. From any thread.
class FirstFault {
 public:
  // Reports the fault to `monitor`, which must outlive it.
  explicit FirstFault(Monitor& monitor) : monitor_(monitor) {}

  // The chunk will be checked. Chunks are announced in the order of the input.
  void announce(std::uint64_t chunk) {
    std::lock_guard lock(mutex_);
    announced_.insert(chunk);
  }
  // There is no fault in the chunk.
  void pass(std::uint64_t chunk) { settle(chunk, nullptr); }

  // Runs `look` on a chunk, or on a part of it. Throws Monitor::Abandoned if that throws
  // Error{bad_input}: the chunk's fault. Nothing that comes before may wait for the chunk then.
  template <class Look>
  void watch(std::uint64_t chunk, Look&& look) {
    try {
      look();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::bad_input) throw;
      settle(chunk, std::current_exception());
      throw Monitor::Abandoned{};
    }
  }

 private:
  void settle(std::uint64_t chunk, std::exception_ptr fault) {
    std::exception_ptr first;
    {
      std::lock_guard lock(mutex_);
      announced_.erase(chunk);
      if (fault != nullptr && (fault_ == nullptr || chunk < chunk_)) {
        fault_ = std::move(fault);
        chunk_ = chunk;
      }
      const bool is_first = announced_.empty() || *announced_.begin() > chunk_;
      if (fault_ != nullptr && is_first) first = fault_;
    }
    if (first != nullptr) monitor_.fail(first);
  }

  Monitor& monitor_;
  std::mutex mutex_;
  std::set<std::uint64_t> announced_;  // and not yet looked at
  std::exception_ptr fault_;           // the first so far
  std::uint64_t chunk_ = 0;            // its place
};

}  // namespace xxl
