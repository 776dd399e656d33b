// What the program calls of liburing, instead of that library: a ring whose transfers complete in
// an order and after times of the machine's choosing.
#include <fcntl.h>
#include <liburing.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <vector>

#include "machine.h"
#include "real.h"
#include "waits.h"

namespace xxl::machine {
namespace {

struct Ring {
  io_uring* ring = nullptr;
  std::vector<io_uring_sqe> entries;
  std::vector<io_uring_cqe> completions;
  unsigned entry_head = 0, entry_tail = 0, entry_flags = 0, dropped = 0;
  unsigned completion_head = 0, completion_tail = 0, completion_flags = 0, overflow = 0;
  struct Waiting {
    std::uint64_t number;
    io_uring_sqe entry;
  };
  std::vector<Waiting> waiting;  // until their time, or for files to be ready
  std::uint64_t made = 0;
};

std::map<io_uring*, std::unique_ptr<Ring>>& rings() {
  static std::map<io_uring*, std::unique_ptr<Ring>> all;
  return all;
}

Ring* find(io_uring* ring) {
  const auto found = rings().find(ring);
  return found == rings().end() ? nullptr : found->second.get();
}

void complete(Machine& m, Ring& ring, std::uint64_t user_data, long result) {
  io_uring_cqe& completion = ring.completions[ring.completion_tail & ring.ring->cq.ring_mask];
  completion.user_data = user_data;
  completion.res = static_cast<int>(result);
  completion.flags = 0;
  ++ring.completion_tail;
  m.scheduler.note(static_cast<std::uint64_t>(result));
  m.scheduler.wake(&ring);
}

Transfer transfer_of(const io_uring_sqe& entry) {
  const bool is_write = entry.opcode == IORING_OP_WRITE || entry.opcode == IORING_OP_WRITE_FIXED;
  return {is_write, entry.fd, static_cast<std::int64_t>(entry.off),
          reinterpret_cast<char*>(entry.addr), entry.len};
}

// When its time has come, unless it was cancelled.
void finish(Machine& m, io_uring* key, std::uint64_t number, const Effect& effect) {
  Ring* const ring = find(key);
  if (ring == nullptr) return;
  const auto found = std::ranges::find(ring->waiting, number, &Ring::Waiting::number);
  if (found == ring->waiting.end()) return;
  const io_uring_sqe entry = found->entry;
  ring->waiting.erase(found);
  complete(m, *ring, entry.user_data, m.disks.carry_out(transfer_of(entry), effect));
}

void start_transfer(Machine& m, Ring& ring, const io_uring_sqe& entry) {
  const Transfer transfer = transfer_of(entry);
  const OpenFile* const file = m.disks.find(transfer.fd);
  const Role role = file == nullptr ? Role::other : file->role;
  const Effect effect = m.transfer_effect(role, transfer, file != nullptr && file->is_direct);
  const Time time = m.scheduler.now() + m.disks.duration(transfer.bytes) + m.delay(effect);
  const std::uint64_t number = ++ring.made;
  ring.waiting.push_back({number, entry});
  m.scheduler.at(time, [&m, key = ring.ring, number, effect] { finish(m, key, number, effect); });
}

void cancel(Machine& m, Ring& ring, const io_uring_sqe& entry) {
  const auto found = std::ranges::find(ring.waiting, entry.addr, [](const Ring::Waiting& waiting) {
    return waiting.entry.user_data;
  });
  if (found == ring.waiting.end()) return complete(m, ring, entry.user_data, -ENOENT);
  ring.waiting.erase(found);
  complete(m, ring, entry.addr, -ECANCELED);
  complete(m, ring, entry.user_data, 0);
}

void start(Machine& m, Ring& ring, const io_uring_sqe& entry) {
  switch (entry.opcode) {
    case IORING_OP_NOP:
      return complete(m, ring, entry.user_data, 0);
    case IORING_OP_READ:
    case IORING_OP_READ_FIXED:
    case IORING_OP_WRITE:
    case IORING_OP_WRITE_FIXED:
      return start_transfer(m, ring, entry);
    case IORING_OP_POLL_ADD:
      ring.waiting.push_back({++ring.made, entry});
      return;
    case IORING_OP_ASYNC_CANCEL:
      return cancel(m, ring, entry);
    default:
      return complete(m, ring, entry.user_data, -EINVAL);
  }
}

// Completes those that wait for files which are ready. False if none does.
bool complete_ready(Machine& m, Ring& ring) {
  for (auto waiting = ring.waiting.begin(); waiting != ring.waiting.end(); ++waiting) {
    const io_uring_sqe& entry = waiting->entry;
    if (entry.opcode != IORING_OP_POLL_ADD) continue;
    const short ready = ready_now(m, entry.fd, static_cast<short>(entry.poll32_events));
    if (ready == 0) continue;
    const std::uint64_t user_data = entry.user_data;
    ring.waiting.erase(waiting);
    complete(m, ring, user_data, ready);
    return true;
  }
  return false;
}

}  // namespace
}  // namespace xxl::machine

using namespace xxl::machine;

extern "C" {

int io_uring_queue_init_params(unsigned entries, io_uring* ring, io_uring_params* params) {
  Machine* const m = machine();
  if (m == nullptr || !m->plan.has_ring) return -ENOSYS;
  const Inside inside;
  m->scheduler.step(Call::ring);
  auto made = std::make_unique<Ring>();
  unsigned size = 1;
  while (size < entries) size *= 2;
  made->ring = ring;
  made->entries.resize(size);
  made->completions.resize(std::size_t{size} * 4);
  *ring = {};
  ring->flags = params->flags;
  ring->sq.khead = &made->entry_head;
  ring->sq.ktail = &made->entry_tail;
  ring->sq.kflags = &made->entry_flags;
  ring->sq.kdropped = &made->dropped;
  ring->sq.sqes = made->entries.data();
  ring->sq.ring_entries = size;
  ring->sq.ring_mask = size - 1;
  ring->sq.kring_mask = &ring->sq.ring_mask;
  ring->sq.kring_entries = &ring->sq.ring_entries;
  ring->cq.khead = &made->completion_head;
  ring->cq.ktail = &made->completion_tail;
  ring->cq.kflags = &made->completion_flags;
  ring->cq.koverflow = &made->overflow;
  ring->cq.cqes = made->completions.data();
  ring->cq.ring_entries = size * 4;
  ring->cq.ring_mask = size * 4 - 1;
  ring->cq.kring_mask = &ring->cq.ring_mask;
  ring->cq.kring_entries = &ring->cq.ring_entries;
  ring->features = IORING_FEAT_RW_CUR_POS | IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG;
  ring->ring_fd = static_cast<int>(
      real_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/dev/null"), O_RDWR | O_CLOEXEC));
  params->features = ring->features;
  rings()[ring] = std::move(made);
  return 0;
}

void io_uring_queue_exit(io_uring* ring) {
  const Inside inside;
  real_syscall(SYS_close, ring->ring_fd);
  rings().erase(ring);
}

int io_uring_register_buffers(io_uring*, const iovec*, unsigned) {
  return 0;
}

int io_uring_submit_and_wait(io_uring* ring, unsigned wanted) {
  Machine* const m = machine();
  Ring* const of = m == nullptr ? nullptr : find(ring);
  if (of == nullptr) return -EBADF;
  const Inside inside;
  m->scheduler.step(Call::ring);
  int submitted = 0;
  while (ring->sq.sqe_head != ring->sq.sqe_tail) {
    start(*m, *of, ring->sq.sqes[ring->sq.sqe_head & ring->sq.ring_mask]);
    ++ring->sq.sqe_head;
    ++submitted;
  }
  of->entry_head = of->entry_tail = ring->sq.sqe_head;
  while (of->completion_tail - of->completion_head < wanted) {
    if (complete_ready(*m, *of)) continue;
    // Events wake those that wait for files as well.
    m->scheduler.wait_for_either(of, readiness());
  }
  return submitted;
}

int io_uring_submit(io_uring* ring) {
  return io_uring_submit_and_wait(ring, 0);
}

// As io_uring_peek_cqe(), which calls this where nothing is there, and io_uring_wait_cqe().
int __io_uring_get_cqe(io_uring* ring, io_uring_cqe** completion, unsigned, unsigned wanted,
                       sigset_t*) {
  if (wanted > 0) io_uring_submit_and_wait(ring, wanted);
  Ring* const of = find(ring);
  *completion = nullptr;
  if (of == nullptr || of->completion_tail == of->completion_head) return -EAGAIN;
  *completion = &of->completions[of->completion_head & ring->cq.ring_mask];
  return 0;
}

}  // extern "C"
