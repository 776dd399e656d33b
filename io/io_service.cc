#include <sys/sysmacros.h>

#include <string>
#include <utility>

#include "base/error.h"
#include "io/inline_queue.h"
#include "io/io_queue.h"
#include "io/thread_queue.h"
#include "io/traced_queue.h"
#include "io/uring_queue.h"

namespace xxl::io {
namespace {

// Empty when io_uring works here, otherwise why it does not. Tries by using a ring: some sandboxes
// allow making one, but not using it.
std::string reason_against_uring() {
#if defined(__SANITIZE_THREAD__)
  return "the thread sanitizer does not see what the kernel writes";
#endif
  try {
    Ring(1).check();
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

IoService::Factory uring_factory(std::span<std::byte> memory, unsigned depth) {
  return [memory, depth] {
    auto queue = std::make_unique<UringQueue>(depth);
    queue->register_memory(memory);
    return queue;
  };
}

// A ring may be refused although an earlier one was not: for lack of a thread, or of memory.
IoService::Factory with_fall_back(IoService::Factory first, IoService::Factory second) {
  return [first = std::move(first), second = std::move(second)] {
    try {
      return first();
    } catch (const Error&) {
      return second();
    }
  };
}

// With the threads that the system gives; with none if it gives none, or no descriptor to wake
// them.
IoService::Factory thread_factory(unsigned depth) {
  const auto threads = [depth]() -> std::unique_ptr<IoQueue> {
    auto queue = std::make_unique<ThreadQueue>(depth);
    if (queue->width() > 0) return queue;
    return std::make_unique<InlineQueue>();
  };
  return with_fall_back(threads, [] { return std::make_unique<InlineQueue>(); });
}

// Of a time line: "disk 254:0", by the numbers of the device.
std::string track_of(const File& file) {
  if (!file.is_stored()) return "pipe";
  return "disk " + std::to_string(major(file.device())) + ":" +
         std::to_string(minor(file.device()));
}

}  // namespace

IoService::IoService(Backend backend, std::span<std::byte> memory, unsigned depth) {
  std::string reason;
  if (backend == Backend::automatic) reason = reason_against_uring();
  const bool use_uring = backend != Backend::threads && reason.empty();
  factory_ = use_uring ? uring_factory(memory, depth) : thread_factory(depth);
  if (backend == Backend::automatic) factory_ = with_fall_back(factory_, thread_factory(depth));
  copying_factory_ = thread_factory(depth);
  backend_name_ = use_uring ? "io_uring" : "threads";
  if (!reason.empty()) backend_name_ += " (" + reason + ")";
}

IoService::IoService(Factory factory)
    : factory_(std::move(factory)), copying_factory_(factory_), backend_name_("custom") {}

IoService::~IoService() = default;

IoQueue& IoService::queue_for(const File& file) {
  std::unique_lock lock(mutex_);
  if (IoQueue* const caller = file.caller()) {
    callers_.insert(caller);
    lock.unlock();
    cancel(*caller);
    return *caller;
  }
  const bool direct = file.direct();
  const auto place = std::pair(file.device(), direct);
  const auto found = queues_.find(place);
  if (found != queues_.end()) return *found->second;
  std::unique_ptr<IoQueue> queue = direct ? factory_() : copying_factory_();
  if (time_line_ != nullptr) {
    queue = std::make_unique<TracedQueue>(std::move(queue), *time_line_, track_of(file));
  }
  cancel(*queue);
  return *queues_.emplace(place, std::move(queue)).first->second;
}

void IoService::cancel_at(const std::stop_token& stop) {
  on_stop_.set(stop, [this] { cancel(true); });
}

void IoService::cancel(bool all) {
  std::unique_lock lock(mutex_);
  streams_cancelled_ = true;
  all_cancelled_ = all_cancelled_ || all;
  for (const auto& [device, queue] : queues_) cancel(*queue);
  // What callers cancel may ask for queues. No copy of them is made: a request to stop comes here,
  // and may not throw.
  for (auto next = callers_.begin(); next != callers_.end();) {
    IoQueue* const caller = *next;
    lock.unlock();
    cancel(*caller);
    lock.lock();
    next = callers_.upper_bound(caller);
  }
}

void IoService::cancel(IoQueue& queue) const {
  if (all_cancelled_) {
    queue.cancel_all();
  } else if (streams_cancelled_) {
    queue.cancel_streams();
  }
}

QueueStats IoService::stats() const {
  std::lock_guard lock(mutex_);
  QueueStats sum;
  for (const auto& [device, queue] : queues_) {
    const QueueStats stats = queue->stats();
    sum.bytes_read += stats.bytes_read;
    sum.bytes_written += stats.bytes_written;
    sum.requests += stats.requests;
    sum.busy_ns += stats.busy_ns;
  }
  return sum;
}

std::string IoService::backend_name() const {
  return backend_name_;
}

}  // namespace xxl::io
