#include "io/uring_queue.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "base/units.h"
#include "io/quiet_thread.h"

namespace xxl::io {
namespace {

// What a completion is of (user_data): the index of a slot for its transfer, the same with this bit
// for the slot's file having become ready, or the wake event.
constexpr std::uint64_t kReadyTag = std::uint64_t{1} << 32;
constexpr std::uint64_t kWakeTag = std::uint64_t{1} << 33;

// Ways to set up a ring, best first; kernels refuse flags that they do not know.
constexpr unsigned kSetupFlags[] = {
    IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_R_DISABLED,
    IORING_SETUP_COOP_TASKRUN,
    0,
};

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

void Ring::bind_to_this_thread() {
  if (!disabled_) return;
  // liburing 2.3 declares io_uring_enable_rings() but its shared library lacks it.
  XXL_CHECK(
      syscall(SYS_io_uring_register, ring_.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0) == 0);
}

io_uring_sqe* Ring::new_entry() {
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  XXL_CHECK(entry != nullptr);
  return entry;
}

WakeEvent::WakeEvent() : fd_(eventfd(0, EFD_CLOEXEC)) {
  if (fd_ < 0) throw_io_error(errno, "cannot create an eventfd", {});
}

WakeEvent::~WakeEvent() {
  close(fd_);
}

void WakeEvent::send() {
  XXL_CHECK(eventfd_write(fd_, 1) == 0);
}

void WakeEvent::take() {
  eventfd_t count = 0;
  XXL_CHECK(eventfd_read(fd_, &count) == 0);
}

UringQueue::UringQueue(unsigned depth)
    : depth_(std::max(depth, 1u)),
      ring_(static_cast<unsigned>(depth_) + 1),  // one more for the wake event
      slots_(depth_) {
  for (std::size_t slot = depth_; slot-- > 0;) free_slots_.push_back(slot);
  thread_ = start_quiet_thread([this] { run(); });
}

UringQueue::~UringQueue() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_event_.send();
  thread_.join();
}

void UringQueue::submit(Request request) {
  bool was_awake = false;
  {
    std::lock_guard lock(mutex_);
    waiting_.push(std::move(request));
    was_awake = std::exchange(awake_, true);
  }
  if (!was_awake) wake_event_.send();
}

void UringQueue::run() {
  ring_.bind_to_this_thread();
  watch_wake_event();
  while (start_waiting()) {
    submit_and_wait();
    handle_completions();
  }
}

bool UringQueue::start_waiting() {
  std::lock_guard lock(mutex_);
  while (!waiting_.empty() && !free_slots_.empty()) {
    const std::size_t slot = free_slots_.back();
    free_slots_.pop_back();
    slots_[slot] = Transfer(waiting_.pop());
    meter_.started();
    issue(slot);
  }
  awake_ = free_slots_.empty();  // then nothing can start before a completion comes
  return !stopping_ || free_slots_.size() < depth_;
}

void UringQueue::issue(std::size_t slot) {
  const Transfer& transfer = slots_[slot];
  const auto data = transfer.next();
  const int fd = transfer.request().file->fd();
  const auto bytes = static_cast<unsigned>(data.size());
  io_uring_sqe* entry = ring_.new_entry();
  if (transfer.request().op == Op::read) {
    io_uring_prep_read(entry, fd, data.data(), bytes, transfer.offset());
  } else {
    io_uring_prep_write(entry, fd, data.data(), bytes, transfer.offset());
  }
  io_uring_sqe_set_data64(entry, slot);
}

// For a non-blocking file (a pipe set up so by whoever shares it) that said EAGAIN.
void UringQueue::wait_until_ready(std::size_t slot) {
  const Request& request = slots_[slot].request();
  io_uring_sqe* entry = ring_.new_entry();
  io_uring_prep_poll_add(entry, request.file->fd(), request.op == Op::read ? POLLIN : POLLOUT);
  io_uring_sqe_set_data64(entry, kReadyTag | slot);
}

void UringQueue::watch_wake_event() {
  io_uring_sqe* entry = ring_.new_entry();
  io_uring_prep_poll_add(entry, wake_event_.fd(), POLLIN);
  io_uring_sqe_set_data64(entry, kWakeTag);
}

void UringQueue::submit_and_wait() {
  const int result = io_uring_submit_and_wait(ring_.get(), 1);
  XXL_CHECK(result >= 0 || result == -EINTR || result == -EAGAIN || result == -EBUSY);
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
    XXL_CHECK(result >= 0);
    wake_event_.take();
    watch_wake_event();
  } else if ((tag & kReadyTag) != 0) {
    issue(tag & ~kReadyTag);  // an error of the file shows there
  } else {
    continue_or_finish(tag, result);
  }
}

void UringQueue::continue_or_finish(std::size_t slot, int result) {
  if (!slots_[slot].advance(result)) {
    result == -EAGAIN ? wait_until_ready(slot) : issue(slot);
    return;
  }
  Transfer transfer = std::move(slots_[slot]);
  free_slots_.push_back(slot);
  meter_.finished(transfer.request().op, transfer.completion().bytes);
  transfer.finish();
}

}  // namespace xxl::io
