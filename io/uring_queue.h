// Asynchronous I/O through io_uring: one ring and one thread for each disk.
//
//   submit() ──▶ waiting requests ──▶ ring thread: starts, continues and completes transfers
//            wakes ───────────────────────┘            (at most `depth` in flight)
//
// Only the ring thread talks to the ring. So submit() costs no more than a push to a FIFO and, if
// the thread sleeps, a write to an eventfd; the kernel's work of starting a transfer (pinning the
// pages, building the request) and of ending it runs on the ring thread, beside the threads that
// compute; and the kernel can skip the locking and interrupts that several submitters would need
// (IORING_SETUP_SINGLE_ISSUER, IORING_SETUP_DEFER_TASKRUN).
//
// Buffers and files are not registered with the kernel. Measured at 2 GB/s: registered buffers
// change the rate by less than the noise, and save at most a twentieth of a core in blocks of
// 256 KiB; but they pin, and so touch, all memory at the start, and the usual limit on locked
// memory (8 MiB) rules them out. A registered file saves nanoseconds a transfer, and would keep the
// space of a deleted scratch file until the ring ends.
#pragma once

#include <liburing.h>

#include <cstddef>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "io/io_queue.h"
#include "io/queue_meter.h"
#include "io/request_fifo.h"
#include "io/transfer.h"

namespace xxl::io {

// A ring of the kernel's; closed on destruction.
class Ring {
 public:
  explicit Ring(unsigned entries);
  ~Ring() { io_uring_queue_exit(&ring_); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  io_uring* get() { return &ring_; }
  // Makes the calling thread the only one that may use the ring.
  void bind_to_this_thread();
  // A free entry of the submission queue; CHECKs that there is one.
  io_uring_sqe* new_entry();

 private:
  io_uring ring_;
  bool disabled_ = false;
};

// Wakes the ring thread: an eventfd that the ring polls.
class WakeEvent {
 public:
  WakeEvent();
  ~WakeEvent();
  WakeEvent(const WakeEvent&) = delete;
  WakeEvent& operator=(const WakeEvent&) = delete;

  int fd() const { return fd_; }
  void send();
  // Waits until send() was called, and forgets it.
  void take();

 private:
  int fd_;
};

class UringQueue final : public IoQueue {
 public:
  // Keeps up to `depth` transfers in flight. Throws Error{io} when the kernel has no io_uring, or
  // an administrator or a sandbox forbids it.
  explicit UringQueue(unsigned depth);
  ~UringQueue() override;

  void submit(Request request) override;
  void register_memory(std::span<std::byte>) override {}  // nothing to gain, see above
  QueueStats stats() const override { return meter_.snapshot(); }
  std::string name() const override { return "io_uring"; }

 private:
  void run();
  // Moves waiting requests to the ring while there are free slots; false when the queue is to end.
  bool start_waiting();
  void issue(std::size_t slot);
  void wait_until_ready(std::size_t slot);
  void watch_wake_event();
  void submit_and_wait();
  void handle_completions();
  void handle(std::uint64_t tag, int result);
  void continue_or_finish(std::size_t slot, int result);

  const std::size_t depth_;
  Ring ring_;
  WakeEvent wake_event_;
  QueueMeter meter_;

  // Of the ring thread: the transfers in flight.
  std::vector<Transfer> slots_;
  std::vector<std::size_t> free_slots_;

  std::mutex mutex_;
  RequestFifo waiting_;
  bool awake_ = false;  // the ring thread will look at waiting_ without being told
  bool stopping_ = false;

  std::thread thread_;
};

}  // namespace xxl::io
