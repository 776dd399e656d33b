// An array of disks made of memory: queues for a sort that has the bandwidth of the array, and
// threads that move the data beside it. What is simulated and what is not: bench/README.md.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/thread.h"
#include "io/io_queue.h"
#include "memory_disk.h"
#include "memory_files.h"

namespace xxl::bench {

struct ArrayOptions {
  unsigned disks = 1;
  DiskModel disk;  // each of them
  // One thread for each of these processors moves data, and nothing else should run there.
  std::vector<int> mover_processors = {};
  unsigned unbound_movers = 0;  // further ones, on any processor (for tests)
};

// All methods from any thread.
class MemoryArray {
 public:
  // Starts the movers. `files` must outlive the array. Throws Error where a thread is refused or
  // cannot be bound to its processor.
  MemoryArray(const ArrayOptions& options, MemoryFiles& files);
  // REQUIRES: the queues are gone.
  ~MemoryArray();
  MemoryArray(const MemoryArray&) = delete;
  MemoryArray& operator=(const MemoryArray&) = delete;

  // Files that are open as `path`, as scratch is by its directory, lie on this disk. The transfers
  // of others go to the disks in turn. Before the first transfer.
  void place(const std::string& path, unsigned disk);

  // For JobOptions::queue_factory. The queues must not outlive the array. They serve no streams.
  io::IoService::Factory queues();

  // How long a disk was behind its model, of all disks the longest.
  Time behind() const;

 private:
  class Queue;

  Time now() const { return std::chrono::steady_clock::now() - start_; }
  void start_on(int processor);
  void start_mover(bool bound);
  void submit(io::Request request);
  void run_mover(std::size_t first_disk, bool bound);
  std::size_t deliver();
  void move(MemoryDisk::Transfer& transfer);

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  MemoryFiles& files_;
  std::deque<MemoryDisk> disks_;  // which cannot be moved
  std::map<std::string, unsigned, std::less<>> placed_;
  std::atomic<unsigned> turn_{0};
  std::atomic<std::size_t> pending_{0};  // submitted and not completed
  std::atomic<bool> stopping_{false};
  std::vector<Thread> movers_;
};

}  // namespace xxl::bench
