// Input in which a fault is met late that comes first.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"
#include "watchdog.h"

namespace xxl::test {

// `bytes` of ordered rows. The one of line kFirstLine is malformed, and so are some of those that
// come more than `gap` later, which has to be in other chunks. check() is done with the former when
// it has been at one of the latter.
class LateFault {
 public:
  static constexpr std::size_t kFirstLine = 4000;

  static std::string text(std::size_t bytes, std::size_t gap) {
    std::string text;
    std::size_t first_bytes = 0;
    for (std::size_t line = 1; text.size() < bytes; ++line) {
      if (line == kFirstLine) {
        text += "bad,first\n";
        first_bytes = text.size();
      } else if (line % 100 == 0 && first_bytes != 0 && text.size() > first_bytes + gap) {
        text += "bad,later\n";
      } else {
        text += std::to_string(10000000 + line) + ",row\n";
      }
    }
    return text;
  }

  // What is wrong with a row. From many threads.
  std::optional<std::string> check(std::string_view row) {
    if (!row.starts_with("bad")) return std::nullopt;
    std::unique_lock lock(mutex_);
    if (row == "bad,later") {
      met_later_ = true;
      changed_.notify_all();
    } else {
      // Where one thread does all, the later ones are not met before.
      changed_.wait_for(lock, std::chrono::seconds(1), [this] { return met_later_; });
    }
    return "it says so";
  }

 private:
  Watchdog watchdog_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool met_later_ = false;
};

}  // namespace xxl::test
