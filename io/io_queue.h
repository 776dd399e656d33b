// The seam between xxl and the operating system: asynchronous block transfers.
//
// One queue serves one disk. It holds what was submitted in two FIFOs, one of writes and one of
// reads, keeps a bounded number of transfers in flight, and starts writes before reads (a write
// frees memory at once, a read asks for more; Dementiev and Sanders, SPAA'03, section 3).
// Backends: io_uring (io/uring_queue.h), threads (io/thread_queue.h); tests wrap a queue or
// simulate one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <stop_token>
#include <string>

#include "base/on_stop.h"
#include "base/time_line.h"
#include "io/file.h"
#include "xxl/job.h"

namespace xxl::io {

enum class Op { read, write };

// What became of a request: `error` is 0 or an errno value; `bytes` were transferred, fewer than
// asked without an error only when a read met the end of the file.
struct Completion {
  int error = 0;
  std::size_t bytes = 0;
};

// One transfer. `file` and `data` belong to the caller and must live until `done` has been called.
struct Request {
  // Instead of an offset: read or write at the file's own position (pipes). Such requests must be
  // submitted one at a time for each file.
  static constexpr std::uint64_t kStream = ~std::uint64_t{0};

  Op op = Op::read;
  const File* file = nullptr;
  std::uint64_t offset = 0;   // bytes
  std::span<std::byte> data;  // aligned to kSectorBytes when file->direct()
  // Called once, on a thread of the queue, or within submit(); must be short and must not throw.
  std::function<void(const Completion&)> done;
};

// Counters for reports; nanoseconds and bytes since the queue was made.
struct QueueStats {
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t requests = 0;
  std::uint64_t busy_ns = 0;  // time during which at least one transfer was in flight
};

class IoQueue {
 public:
  // Waits for everything in flight, but cancels the reads of streams.
  virtual ~IoQueue() = default;

  // Queues `request`; from any thread; never blocks on I/O. Short transfers are continued by the
  // queue until complete, the end of file, or an error. If there is no memory to queue it, it is
  // done at once, with ENOMEM.
  virtual void submit(Request request) noexcept = 0;

  // Tells the queue that most transfers will use this memory, so that it can be registered with
  // the kernel. Call before the first submit, at most once; a refusal is not an error.
  virtual void register_memory(std::span<std::byte> memory) = 0;

  // Makes the reads of streams (Request::kStream), those in flight and all that follow, complete
  // with ECANCELED at once, even if a pipe never delivers; what they had read is lost. For giving
  // up. From any thread; does not wait. Does nothing by default: for queues that serve no streams.
  virtual void cancel_streams() {}

  // The same for all requests that are not in flight yet and all that follow; those in flight end
  // as they do, and may be reported as cancelled.
  virtual void cancel_all() { cancel_streams(); }

  virtual QueueStats stats() const = 0;
  // "io_uring" or "threads".
  virtual std::string name() const = 0;
};

// The queues of a sort: one for each disk, made on first use.
class IoService {
 public:
  using Factory = std::function<std::unique_ptr<IoQueue>()>;

  // `memory` (may be empty) is registered with every queue, and must outlive the service. `depth`
  // is the number of transfers in flight a disk. Rings are for direct transfers (File::direct());
  // with Backend::automatic unless the kernel refuses them. What is copied gets threads: files in
  // memory and in the page cache, as a ring would copy on one thread, and wait there for the disk;
  // and streams: where a transfer ends early, as at the limit of file sizes, io_uring does not
  // advance the file's position, and the rest would go to the wrong place.
  IoService(Backend backend, std::span<std::byte> memory, unsigned depth = 32);
  // For tests: queues come from `factory`.
  explicit IoService(Factory factory);
  ~IoService();

  // Records all transfers in `time_line`, which must outlive the service. Call before the first
  // use.
  void trace(TimeLine* time_line) { time_line_ = time_line; }

  // Once `stop` is requested, IoQueue::cancel_all() for all queues. Call at most once.
  void cancel_at(const std::stop_token& stop);

  IoQueue& queue_for(const File& file);
  // IoQueue::cancel_streams() for all queues, also those yet to be made.
  void cancel_streams() { cancel(false); }
  // Sums over all queues.
  QueueStats stats() const;
  // Name of the backend in use ("io_uring", or "threads (io_uring refused: ...)").
  std::string backend_name() const;

 private:
  void cancel(bool all);
  void cancel(IoQueue& queue) const;

  Factory factory_;  // for direct transfers
  Factory copying_factory_;
  std::string backend_name_;
  TimeLine* time_line_ = nullptr;
  mutable std::mutex mutex_;
  std::map<std::pair<dev_t, bool>, std::unique_ptr<IoQueue>> queues_;  // bool: direct
  std::set<IoQueue*> callers_;                                         // that files of callers have
  std::atomic<bool> streams_cancelled_ = false;
  std::atomic<bool> all_cancelled_ = false;
  OnStop on_stop_;  // last: it uses the others
};

}  // namespace xxl::io
