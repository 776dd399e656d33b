// What the copies of xxl::resources share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "io/io_queue.h"
#include "job/job.h"
#include "sort/accelerator.h"
#include "xxl/resources.h"

namespace xxl {
class SharedJob;
}

namespace xxl::detail {

// The token that `signal` was made of. Throws Error{usage} if that is none of the standard library.
std::stop_token token_of(const stop_signal& signal);

class SharedResources {
 public:
  // `options` with defaults filled in. Throws Error{usage} for a stop signal of another type.
  explicit SharedResources(resource_options options);

  const resource_options& options() const { return options_; }
  // For the command line, which looks at directories only when it uses them. Before all users.
  void set_scratch_dirs(std::vector<std::string> dirs) { options_.scratch_dirs = std::move(dirs); }
  // Of options().stop.
  const std::stop_token& stop() const { return stop_; }
  // One more handle (xxl::resources). The last one deletes this.
  void keep() { ++handles_; }
  void release() {
    if (--handles_ == 0) delete this;
  }

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
  TimeLine* time_line = nullptr;         // of all users; may be null
  SharedJob* job = nullptr;              // if set, jobs of records of any length are part of it

 private:
  resource_options options_;
  const std::stop_token stop_;
  std::atomic<unsigned> handles_ = 1;
  mutable std::mutex mutex_;
  std::uint64_t free_bytes_;
};

// What a user of the resources has, until destruction: a part of the memory, and of the GPUs.
//
// All parts are equal, of the host's memory and of each GPU's. So whoever comes second finds what
// was planned for it, and nobody waits for another.
class Grant {
 public:
  // `memory_bytes`: 0 for an equal part. Throws Error{no_space} if less is free.
  explicit Grant(const resources& given, std::uint64_t memory_bytes = 0);
  ~Grant() { given_.shared()->give_back(memory_bytes_); }
  Grant(const Grant&) = delete;
  Grant& operator=(const Grant&) = delete;

  // What `job` may use. The grant must outlive it.
  void give_to(FileJob& job) const;
  JobMeans means() const;

 private:
  const resources given_;
  const std::uint64_t memory_bytes_;
  std::unique_ptr<Accelerator> accelerator_;  // null: none is to be used
};

}  // namespace xxl::detail
