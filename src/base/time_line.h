// What was done when: intervals on named tracks, to see how the stages of a sort overlap.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace xxl {

// Is told of each interval when it has ended.
class TimeLine {
 public:
  virtual ~TimeLine() = default;

  static std::uint64_t now() {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::chrono::steady_clock::now().time_since_epoch())
                                          .count());
  }

  // From any thread. `track`: "GPU 0 copy in"; `what`: a literal; `start` and `end`: as of now();
  // `bytes`: that were moved, 0 if unknown.
  virtual void add(std::string_view track, const char* what, std::uint64_t start, std::uint64_t end,
                   std::uint64_t bytes = 0) noexcept = 0;
};

// Keeps them all.
class IntervalList final : public TimeLine {
 public:
  struct Interval {
    std::string track;
    const char* what;
    std::uint64_t start;
    std::uint64_t end;
    std::uint64_t bytes;
  };

  void add(std::string_view track, const char* what, std::uint64_t start, std::uint64_t end,
           std::uint64_t bytes = 0) noexcept override {
    std::lock_guard lock(mutex_);
    try {
      intervals_.push_back({std::string(track), what, start, end, bytes});
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
