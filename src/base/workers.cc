#include "base/workers.h"

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <utility>

#include "base/chores.h"

namespace xxl {

class Workers::OwnChores final : public Chores {
 public:
  explicit OwnChores(Workers& workers) : workers_(workers) {}

 private:
  bool do_one() override { return workers_.do_one(); }

  Workers& workers_;
};

// Thread n of `width` serves in arena n mod nodes. All slots are kept for our threads, so oneTBB
// makes none: it would make them when tasks come, also on its own threads, and if the system
// refuses one there, the process ends.
class Workers::Arenas {
 public:
  explicit Arenas(unsigned width) {
    const std::vector<tbb::numa_node_id> nodes = tbb::info::numa_nodes();
    const std::size_t count = std::min<std::size_t>(nodes.size(), width);
    for (std::size_t node = 0; node < count; ++node) {
      const auto slots = static_cast<unsigned>((width - node + count - 1) / count);
      arenas_
          .emplace_back(tbb::task_arena::constraints{nodes[node], static_cast<int>(slots)}, slots)
          .initialize();
    }
  }

  // Calls `serve` in the arena of `thread`, or outside, if it cannot be entered.
  template <class Serve>
  void enter(unsigned thread, Serve serve) {
    bool entered = false;
    try {
      arenas_[thread % arenas_.size()].execute([&] {
        entered = true;
        serve();
      });
    } catch (...) {  // no memory for what oneTBB stores about a thread
    }
    if (!entered) serve();
  }

 private:
  std::deque<tbb::task_arena> arenas_;  // which cannot be moved
};

namespace {

// True if the calling thread may have as much stack as our own threads (ulimit -s).
bool has_ample_stack() {
  rlimit limit{};
  return getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur >= Thread::kStackBytes;
}

// From the kernel, not from oneTBB, which loads hwloc for it: slow, and in a way that
// AddressSanitizer does not allow.
bool has_several_nodes() {
  std::string nodes;  // with processors: "0", "0-1", "0,8"
  std::getline(std::ifstream("/sys/devices/system/node/has_cpu"), nodes);
  return nodes.find_first_of(",-") != std::string::npos;
}

}  // namespace

Workers::Workers(unsigned width, Threads threads) : width_(width) {
  if (threads == Threads::wanted || !has_ample_stack()) start_threads();
  if (threads_.empty()) chores_ = std::make_unique<OwnChores>(*this);
}

void Workers::start_threads() {
  if (width_ > 1 && has_several_nodes()) {
    try {
      arenas_ = std::make_unique<Arenas>(width_);
    } catch (...) {  // no memory: threads serve without
    }
  }
  threads_.reserve(width_);
  while (threads_.size() < width_) {
    const auto number = static_cast<unsigned>(threads_.size());
    Thread thread = Thread::try_start([this, number] {
      if (arenas_ == nullptr) return serve(number);
      arenas_->enter(number, [&] { serve(number); });
    });
    if (!thread) break;
    threads_.push_back(std::move(thread));
  }
}

Workers::~Workers() {
  while (chores_ != nullptr && do_one()) {
  }
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  arrived_.notify_all();
}

void Workers::run(Task task) {
  bool awaited;
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    awaited = idle_ > 0;
  }
  if (awaited) arrived_.notify_one();
}

// The loop of a thread: runs tasks until there are none and no more will come.
void Workers::serve(unsigned thread) {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    arrived_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    --idle_;
    if (tasks_.empty()) return;
    run_first(lock, thread);
  }
}

bool Workers::do_one() {
  std::unique_lock lock(mutex_);
  if (tasks_.empty()) return false;
  run_first(lock, 0);
  return true;
}

void Workers::run_first(std::unique_lock<std::mutex>& lock, unsigned thread) {
  {
    const Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    const auto start = std::chrono::steady_clock::now();
    task(thread);
    busy_ns_ += static_cast<std::uint64_t>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
  }
  lock.lock();
}

}  // namespace xxl
