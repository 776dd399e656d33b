#include "io/uring_queue.h"

#include <linux/capability.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/error.h"
#include "base/queue_failure.h"

namespace xxl::io {
namespace {

// The tag of an entry (user_data) is the index of its slot, or this for the wake event.
constexpr std::uint64_t kWakeTag = std::uint64_t{1} << 32;

// Ways to set up a ring, best first; kernels refuse flags that they do not know.
constexpr unsigned kSetupFlags[] = {
    IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_R_DISABLED,
    IORING_SETUP_COOP_TASKRUN,
    0,
};

// The kernel has no room at the moment; repeated only if nothing completes.
constexpr unsigned kMostRefusals = 10'000;

// Entries that can wait for submission together: a transfer in each slot, and the poll for the wake
// event.
unsigned ring_entries(std::size_t depth) {
  return static_cast<unsigned>(depth + 1);
}

// CAP_IPC_LOCK: the limit on locked memory does not apply.
bool may_exceed_lock_limit() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capget, &header, data) != 0) return false;
  return (data[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK)) != 0;
}

// False when the kernel would refuse to pin so much; it asks only after it has touched every page.
bool may_lock(std::size_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && bytes <= limit.rlim_cur) return true;
  return may_exceed_lock_limit();
}

}  // namespace

Ring::Ring(unsigned entries) {
  int result = -EINVAL;
  for (const unsigned flags : kSetupFlags) {
    io_uring_params params{};
    params.flags = flags;
    result = io_uring_queue_init_params(entries, &ring_, &params);
    disabled_ = (flags & IORING_SETUP_R_DISABLED) != 0;
    if (result != -EINVAL) break;
  }
  if (result < 0) throw_io_error(-result, "io_uring refused", {});
  // This came with the read and write operations used here (Linux 5.6).
  if ((ring_.features & IORING_FEAT_RW_CUR_POS) == 0) {
    io_uring_queue_exit(&ring_);
    throw_io_error(ENOSYS, "io_uring refused", {});
  }
}

int Ring::bind_to_this_thread() {
  if (!disabled_) return 0;
  // liburing 2.3 declares io_uring_enable_rings() but its shared library lacks it.
  const auto result =
      syscall(SYS_io_uring_register, ring_.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0);
  return result == 0 ? 0 : errno;
}

void Ring::check() {
  int error = bind_to_this_thread();
  if (error == 0) {
    io_uring_prep_nop(new_entry());
    error = -std::min(io_uring_submit_and_wait(&ring_, 1), 0);
  }
  if (error != 0) throw_io_error(error, "io_uring refused", {});
}

io_uring_sqe* Ring::new_entry() {
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  XXL_CHECK(entry != nullptr);
  return entry;
}

bool Ring::register_buffer(std::span<std::byte> memory) {
  if (!may_lock(memory.size())) return false;
  const iovec buffer{memory.data(), memory.size()};
  return io_uring_register_buffers(&ring_, &buffer, 1) == 0;
}

UringQueue::UringQueue(unsigned depth)
    : depth_(std::max(depth, 1u)), ring_(ring_entries(depth_)), slots_(depth_) {
  for (std::size_t slot = depth_; slot-- > 0;) free_slots_.push_back(slot);
  thread_ = Thread::start("for io_uring", [this] { run(); });
}

UringQueue::~UringQueue() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_event_.send();
  thread_.join();
}

void UringQueue::submit(Request request) noexcept {
  XXL_CHECK(request.offset != Request::kStream);
  bool queued = false;
  bool was_awake = true;
  {
    std::lock_guard lock(mutex_);
    queued = waiting_.push(request);
    if (queued) was_awake = std::exchange(awake_, true);
  }
  if (!queued) return refuse(request);
  if (!was_awake) wake_event_.send();
}

void UringQueue::cancel_all() {
  std::lock_guard lock(mutex_);
  cancel_all_ = true;
}

void UringQueue::run() {
  fail(ring_.bind_to_this_thread());
  if (failure_ == 0) watch_wake_event();
  while (failure_ == 0 && start_waiting()) {
    submit_and_wait();
    handle_completions();
  }
  if (failure_ != 0) fail_everything();
}

bool UringQueue::start_waiting() {
  std::unique_lock lock(mutex_);
  all_cancelled_ = cancel_all_;
  while (!waiting_.empty() && !free_slots_.empty()) {
    const std::size_t slot = free_slots_.back();
    free_slots_.pop_back();
    slots_[slot] = Transfer(waiting_.pop());
    lock.unlock();
    meter_.started();
    issue(slot);
    lock.lock();
  }
  awake_ = free_slots_.empty();  // then nothing can start before a completion arrives
  return !stopping_ || free_slots_.size() < depth_;
}

void UringQueue::issue(std::size_t slot) {
  io_uring_sqe* entry = ring_.new_entry();
  if (all_cancelled_) {
    io_uring_prep_nop(entry);
  } else {
    prepare(entry, slots_[slot]);
  }
  io_uring_sqe_set_data64(entry, slot);
}

void UringQueue::prepare(io_uring_sqe* entry, const Transfer& transfer) {
  const auto data = transfer.next();
  const int fd = transfer.request().file->fd();
  const auto bytes = static_cast<unsigned>(data.size());
  const bool fixed = is_registered(data);
  if (transfer.request().op == Op::read) {
    fixed ? io_uring_prep_read_fixed(entry, fd, data.data(), bytes, transfer.offset(), 0)
          : io_uring_prep_read(entry, fd, data.data(), bytes, transfer.offset());
  } else {
    fixed ? io_uring_prep_write_fixed(entry, fd, data.data(), bytes, transfer.offset(), 0)
          : io_uring_prep_write(entry, fd, data.data(), bytes, transfer.offset());
  }
}

// Registers the memory when as many bytes as it holds have been transferred: then its pages exist,
// and a short sort, which would gain nothing, does not wait for pages that it does not need.
bool UringQueue::is_registered(std::span<const std::byte> data) {
  const bool inside =
      data.data() >= memory_.data() && data.data() + data.size() <= memory_.data() + memory_.size();
  if (!inside || data.empty() || registration_ == Registration::refused) return false;
  if (registration_ == Registration::untried) {
    bytes_before_registration_ += data.size();
    if (bytes_before_registration_ < memory_.size()) return false;
    const bool done = memory_.size() <= kMaxRegisteredBytes && ring_.register_buffer(memory_);
    registration_ = done ? Registration::done : Registration::refused;
  }
  return registration_ == Registration::done;
}

void UringQueue::watch_wake_event() {
  io_uring_sqe* entry = ring_.new_entry();
  io_uring_prep_poll_add(entry, wake_event_.fd(), POLLIN);
  io_uring_sqe_set_data64(entry, kWakeTag);
}

void UringQueue::submit_and_wait() {
  const int result = io_uring_submit_and_wait(ring_.get(), 1);
  if (result >= 0 || result == -EINTR) {
    refusals_ = 0;
  } else if ((result != -EAGAIN && result != -EBUSY) || ++refusals_ == kMostRefusals) {
    fail(-result);
  }
}

// 0 is none.
void UringQueue::fail(int error) {
  if (error != 0 && failure_ == 0) failure_ = kRingFailed + error;
}

// Completes what is under way, what waits, and what still comes until the queue ends.
void UringQueue::fail_everything() {
  for (std::size_t slot = 0; slot < depth_; ++slot) {
    if (std::find(free_slots_.begin(), free_slots_.end(), slot) != free_slots_.end()) continue;
    slots_[slot].advance(-failure_);
    finish(slot);
  }
  for (;;) {
    std::unique_lock lock(mutex_);
    while (!waiting_.empty()) {
      Transfer transfer(waiting_.pop());
      lock.unlock();
      transfer.advance(-failure_);
      transfer.finish();
      lock.lock();
    }
    if (stopping_) return;
    awake_ = false;
    lock.unlock();
    wake_event_.take();
  }
}

void UringQueue::handle_completions() {
  io_uring_cqe* completion = nullptr;
  while (io_uring_peek_cqe(ring_.get(), &completion) == 0) {
    const std::uint64_t tag = completion->user_data;
    const int result = completion->res;
    io_uring_cqe_seen(ring_.get(), completion);
    handle(tag, result);
  }
}

void UringQueue::handle(std::uint64_t tag, int result) {
  if (tag == kWakeTag) {
    if (result < 0) return fail(-result);
    wake_event_.take();
    watch_wake_event();
  } else {
    continue_or_finish(tag, result);
  }
}

void UringQueue::continue_or_finish(std::size_t slot, int result) {
  if (all_cancelled_) {
    slots_[slot].cancel();
  } else if (result == -ECANCELED) {
    slots_[slot].carry_out();  // the kernel had no thread for it (ulimit -u)
  } else if (!slots_[slot].advance(result)) {
    return issue(slot);
  }
  finish(slot);
}

void UringQueue::finish(std::size_t slot) {
  Transfer transfer = std::exchange(slots_[slot], Transfer());
  free_slots_.push_back(slot);
  meter_.finished(transfer.request().op, transfer.completion().bytes);
  transfer.finish();
}

}  // namespace xxl::io
