// Measurements of time.
#pragma once

#include <chrono>
#include <cstdio>
#include <ostream>
#include <string>

#include "xxl/stxxl/config.h"

namespace stxxl {

inline double timestamp() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class timer {
 public:
  explicit timer(bool start_now = false) {
    if (start_now) start();
  }
  void start() { started_ = timestamp(); }
  void stop() { seconds_ += timestamp() - started_; }
  void reset() { seconds_ = 0; }
  double seconds() const { return seconds_; }
  double mseconds() const { return seconds_ * 1e3; }

 private:
  double started_ = 0;
  double seconds_ = 0;
};

class scoped_print_timer {
 public:
  explicit scoped_print_timer(const std::string& message, uint64 = 0)
      : message_(message), started_(timestamp()) {}
  ~scoped_print_timer() {
    std::fprintf(stderr, "%s: %.3f s\n", message_.c_str(), timestamp() - started_);
  }

 private:
  std::string message_;
  double started_;
};

// Measures time only. Transfers between memory and disks are not counted.
class stats {
 public:
  static stats* get_instance() {
    static stats instance;
    return &instance;
  }
  void reset() { started_ = timestamp(); }
  double get_last_reset_time() const { return started_; }

 private:
  double started_ = timestamp();
};

class stats_data {
 public:
  stats_data() = default;
  stats_data(const stats& of) : seconds_(timestamp() - of.get_last_reset_time()) {}
  friend stats_data operator-(stats_data a, const stats_data& b) {
    a.seconds_ -= b.seconds_;
    return a;
  }
  friend stats_data operator+(stats_data a, const stats_data& b) {
    a.seconds_ += b.seconds_;
    return a;
  }
  double get_elapsed_time() const { return seconds_; }
  friend std::ostream& operator<<(std::ostream& out, const stats_data& data) {
    return out << "elapsed time: " << data.seconds_ << " seconds\n";
  }

 private:
  double seconds_ = 0;
};

inline std::ostream& operator<<(std::ostream& out, const stats& since_reset) {
  return out << stats_data(since_reset);
}

}  // namespace stxxl
