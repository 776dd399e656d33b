// One disk of an array made of memory: which transfers are under way, and when they are over, by a
// virtual clock. How it is paced: bench/README.md.
//
// It moves nothing and has no threads. Movers (memory_array.h) ask it for the next transfer, copy
// its data, and look whether transfers are due; tests do the same by a clock of their own.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <limits>
#include <mutex>
#include <queue>
#include <utility>
#include <vector>

#include "io/io_queue.h"

namespace xxl::bench {

// Since the array was made.
using Time = std::chrono::duration<double>;

struct DiskModel {
  double read_bandwidth = 1e9;  // bytes a second
  double write_bandwidth = 1e9;
  Time latency{0};
  unsigned depth = 32;  // transfers in flight, at least 1
};

// All methods from any thread.
class MemoryDisk {
 public:
  // A transfer in flight. Of the mover that got it until moved().
  struct Transfer {
    io::Request request;
    io::Completion completion;
    Time due{0};  // once it is over: from when on its place was free
  };

  explicit MemoryDisk(const DiskModel& model);
  MemoryDisk(const MemoryDisk&) = delete;
  MemoryDisk& operator=(const MemoryDisk&) = delete;

  void submit(io::Request request, Time now);

  // The next transfer whose data are to be moved, now in flight; null if none waits, `depth` are in
  // flight, or other threads are at it.
  Transfer* start();
  // Its data have been moved, and its completion is set.
  void moved(Transfer* transfer);
  // Completes the transfers that have been moved and are due, on the calling thread. Returns their
  // number. `now` is read from the clock before.
  std::size_t deliver(Time now);

  // How long at least one transfer was due and not yet completed, up to the last completion.
  Time behind() const;

 private:
  struct Waiting {
    io::Request request;
    Time submitted{0};
  };
  using Due = std::pair<Time, Transfer*>;
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  Time duration_of(const io::Request& request) const;
  void note_changes();

  const DiskModel model_;
  // What movers look at without the lock.
  std::atomic<bool> may_start_{false};
  std::atomic<double> next_due_{kNever};

  mutable std::mutex mutex_;
  std::queue<Waiting> writes_;  // before reads, as the queues of io/ do
  std::queue<Waiting> reads_;
  std::vector<Transfer> places_;  // one for each transfer in flight
  std::queue<Transfer*> free_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> moved_;
  Time channel_{0};  // the last byte of all transfers so far has passed
  Time behind_{0};
  Time told_{0};  // of the last completion
};

}  // namespace xxl::bench
