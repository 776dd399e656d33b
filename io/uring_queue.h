// Asynchronous I/O through io_uring: one ring and one thread for each disk. Not for streams.
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
// The memory that most transfers use is registered (pinned once, instead of in each transfer) after
// as many bytes as it holds have gone through it: earlier, its untouched pages would be fetched for
// nothing (10 ms and 50 MiB, in a small sort that takes 30 ms). Ordinary users may lock 8 MiB, so
// for most of them it stays as it is. CPU time for a GB and rate of direct transfers at depth 32,
// medians of 10 alternating runs on a virtual disk with two busy cores:
//
//     block            64 KiB                  256 KiB                 1 MiB
//     read    plain     91 ms, 1.4 GB/s         28 ms, 1.6 GB/s         10 ms, 1.7 GB/s
//        registered     74 ms, 1.5 GB/s         22 ms, 1.6 GB/s          8 ms, 1.9 GB/s
//     write   plain    133 ms, 1.5 GB/s         32 ms, 2.2 GB/s         10 ms, 2.7 GB/s
//        registered    118 ms, 1.5 GB/s         28 ms, 2.1 GB/s          8 ms, 2.8 GB/s
//
// In a whole sort that is less than a hundredth of the time: 30 alternating pairs do not show it.
//
// If the ring itself fails, every transfer fails from then on, with kRingFailed: what it had taken
// may still be under way, so nothing else can take over.
//
// Files are not registered: that gains nothing measurable. On top of registered memory, in medians
// of 12 runs, a GB took 69 ms without and 67 ms with it to read in blocks of 64 KiB, 106 ms and
// 106 ms to write, where the runs differed by a third among themselves; in blocks of 1 MiB, 6.5 and
// 6.0 ms, 6.4 and 6.6 ms. And the ring would hold on to the space of a scratch file that was
// closed.
#pragma once

#include <liburing.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/thread.h"
#include "base/units.h"
#include "io/io_queue.h"
#include "io/queue_meter.h"
#include "io/request_fifo.h"
#include "io/transfer.h"
#include "io/wake_event.h"

namespace xxl::io {

// A ring of the kernel's; closed on destruction.
class Ring {
 public:
  explicit Ring(unsigned entries);
  ~Ring() { io_uring_queue_exit(&ring_); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  io_uring* get() { return &ring_; }
  // Makes the calling thread the only one that may use the ring. Returns 0 or an errno value.
  int bind_to_this_thread();
  // Binds the ring and submits a no-op; throws Error{io} if even that fails.
  void check();
  // A free entry of the submission queue; CHECKs that there is one.
  io_uring_sqe* new_entry();
  // Pins `memory`, as the ring's only fixed buffer (number 0). False when the kernel refuses, or
  // would: above the limit on locked memory not even a page is touched.
  bool register_buffer(std::span<std::byte> memory);

 private:
  io_uring ring_;
  bool disabled_ = false;
};

class UringQueue final : public IoQueue {
 public:
  // The limit of what is pinned: pinning touches every page.
  static constexpr std::size_t kMaxRegisteredBytes = 128 * kMiB;

  // Keeps up to `depth` transfers in flight. Throws Error{io} when the kernel has no io_uring, or
  // an administrator or a sandbox forbids it.
  explicit UringQueue(unsigned depth);
  ~UringQueue() override;

  void submit(Request request) noexcept override;
  // Registered when it has proved useful (see above), up to kMaxRegisteredBytes and if the limit on
  // locked memory allows.
  void register_memory(std::span<std::byte> memory) override { memory_ = memory; }
  void cancel_all() override;
  QueueStats stats() const override { return meter_.snapshot(); }
  std::string name() const override { return "io_uring"; }

 private:
  void run();
  // Moves waiting requests to the ring while there are free slots; false when the queue is to end.
  bool start_waiting();
  void issue(std::size_t slot);
  void prepare(io_uring_sqe* entry, const Transfer& transfer);
  bool is_registered(std::span<const std::byte> data);
  void watch_wake_event();
  void submit_and_wait();
  void handle_completions();
  void finish(std::size_t slot);
  void fail(int error);
  void fail_everything();
  void handle(std::uint64_t tag, int result);
  void continue_or_finish(std::size_t slot, int result);

  const std::size_t depth_;
  std::span<std::byte> memory_;  // most transfers lie in it; set before the first of them
  Ring ring_;
  WakeEvent wake_event_;
  QueueMeter meter_;

  // Of the ring thread: the transfers in flight.
  std::vector<Transfer> slots_;
  std::vector<std::size_t> free_slots_;
  enum class Registration { untried, done, refused };
  Registration registration_ = Registration::untried;
  std::uint64_t bytes_before_registration_ = 0;  // transferred in memory_
  bool all_cancelled_ = false;                   // cancel_all_ was seen
  unsigned refusals_ = 0;  // since the ring last accepted or completed anything
  int failure_ = 0;        // why the ring is no longer usable

  std::mutex mutex_;
  RequestFifo waiting_;
  bool awake_ = false;  // the ring thread will look at waiting_ without a wake-up
  bool stopping_ = false;
  bool cancel_all_ = false;

  Thread thread_;
};

}  // namespace xxl::io
