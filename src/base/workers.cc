#include "base/workers.h"

#include <sys/resource.h>

#include <chrono>
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

namespace {

// True if the calling thread may have as much stack as threads of our own (ulimit -s).
bool has_ample_stack() {
  rlimit limit{};
  return getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur >= Thread::kStackBytes;
}

}  // namespace

Workers::Workers(unsigned width, Threads threads) : width_(width) {
  threads_.reserve(width);
  const bool wanted = threads == Threads::wanted || !has_ample_stack();
  while (wanted && threads_.size() < width) {
    const auto number = static_cast<unsigned>(threads_.size());
    Thread thread = Thread::try_start([this, number] { serve(number); });
    if (!thread) break;
    threads_.push_back(std::move(thread));
  }
  if (threads_.empty()) chores_ = std::make_unique<OwnChores>(*this);
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

// The life of a thread: runs tasks until there are none and there will be none.
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
