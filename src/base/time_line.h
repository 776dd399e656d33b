// What was done when: intervals on named tracks, to see how the stages of a sort overlap.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace xxl {

class TimeLine {
 public:
  struct Interval {
    std::string track;    // "GPU 0 copy in"
    const char* what;     // a literal
    std::uint64_t start;  // ns, as of now()
    std::uint64_t end;
    std::uint64_t bytes;  // bytes moved; 0: unknown
  };

  static std::uint64_t now() {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::chrono::steady_clock::now().time_since_epoch())
                                          .count());
  }

  // From any thread.
  void add(std::string track, const char* what, std::uint64_t start, std::uint64_t end,
           std::uint64_t bytes = 0) noexcept {
    std::lock_guard lock(mutex_);
    try {
      intervals_.push_back({std::move(track), what, start, end, bytes});
    } catch (const std::bad_alloc&) {  // a time line with a gap
    }
  }
  // All intervals so far, in the order in which they ended.
  std::vector<Interval> intervals() const {
    std::lock_guard lock(mutex_);
    return intervals_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Interval> intervals_;
};

}  // namespace xxl
