#include "memory_array.h"

#include <sched.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/units.h"

namespace xxl::bench {
namespace {

// Between two of these a mover looks whether transfers are due.
constexpr std::size_t kPieceBytes = 64 * kKiB;

void pause_processor() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

// What a sort sees of the array. Bytes count when they are submitted: at the end of a phase, when
// reports are made, all have arrived.
class MemoryArray::Queue final : public io::IoQueue {
 public:
  explicit Queue(MemoryArray& array) : array_(array) {}
  ~Queue() override {
    while (array_.pending_ > 0) std::this_thread::yield();
  }

  void submit(io::Request request) noexcept override {
    XXL_CHECK(request.offset != io::Request::kStream);
    (request.op == io::Op::read ? bytes_read_ : bytes_written_) += request.data.size();
    ++requests_;
    array_.submit(std::move(request));
  }
  void register_memory(std::span<std::byte>) override {}
  io::QueueStats stats() const override {
    io::QueueStats stats;
    stats.bytes_read = bytes_read_;
    stats.bytes_written = bytes_written_;
    stats.requests = requests_;
    return stats;
  }
  std::string name() const override { return "memory"; }

 private:
  MemoryArray& array_;
  std::atomic<std::uint64_t> bytes_read_{0};
  std::atomic<std::uint64_t> bytes_written_{0};
  std::atomic<std::uint64_t> requests_{0};
};

MemoryArray::MemoryArray(const ArrayOptions& options, MemoryFiles& files) : files_(files) {
  XXL_CHECK(options.disks > 0);
  for (unsigned disk = 0; disk < options.disks; ++disk) disks_.emplace_back(options.disk);
  try {
    for (const int processor : options.mover_processors) start_on(processor);
    for (unsigned i = 0; i < options.unbound_movers; ++i) start_mover(false);
  } catch (...) {
    stopping_ = true;
    throw;
  }
}

void MemoryArray::start_mover(bool bound) {
  const std::size_t first_disk = movers_.size() % disks_.size();
  movers_.push_back(
      Thread::start("to move data", [this, first_disk, bound] { run_mover(first_disk, bound); }));
}

// A thread has the processors of the one that makes it.
void MemoryArray::start_on(int processor) {
  cpu_set_t before;
  XXL_CHECK(sched_getaffinity(0, sizeof before, &before) == 0);
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET(processor, &own);
  if (sched_setaffinity(0, sizeof own, &own) != 0) {
    throw Error(ErrorCode::usage, "processor " + std::to_string(processor) + " is not available");
  }
  start_mover(true);
  sched_setaffinity(0, sizeof before, &before);
}

MemoryArray::~MemoryArray() {
  stopping_ = true;
}

void MemoryArray::place(const std::string& path, unsigned disk) {
  XXL_CHECK(disk < disks_.size());
  placed_[path] = disk;
}

io::IoService::Factory MemoryArray::queues() {
  return [this] { return std::make_unique<Queue>(*this); };
}

Time MemoryArray::behind() const {
  Time most{0};
  for (const MemoryDisk& disk : disks_) most = std::max(most, disk.behind());
  return most;
}

void MemoryArray::submit(io::Request request) {
  ++pending_;
  const auto placed = placed_.find(request.file->path());
  const std::size_t disk = placed != placed_.end() ? placed->second : turn_++ % disks_.size();
  disks_[disk].submit(std::move(request), now());
}

// A mover begins with a disk of its own and looks at all, so that one disk may have several.
void MemoryArray::run_mover(std::size_t first_disk, bool bound) {
  while (!stopping_.load(std::memory_order_relaxed)) {
    bool idle = deliver() == 0;
    for (std::size_t i = 0; i < disks_.size(); ++i) {
      MemoryDisk& disk = disks_[(first_disk + i) % disks_.size()];
      MemoryDisk::Transfer* const transfer = disk.start();
      if (transfer == nullptr) continue;
      idle = false;
      move(*transfer);
      disk.moved(transfer);
      deliver();
    }
    if (!idle) continue;
    bound ? pause_processor() : std::this_thread::yield();
  }
}

std::size_t MemoryArray::deliver() {
  std::size_t count = 0;
  for (MemoryDisk& disk : disks_) count += disk.deliver(now());
  pending_ -= count;
  return count;
}

void MemoryArray::move(MemoryDisk::Transfer& transfer) {
  const io::Request& request = transfer.request;
  io::Completion& completion = transfer.completion;
  MemoryFile& file = files_.of(*request.file);
  while (completion.bytes < request.data.size()) {
    const auto rest = request.data.subspan(completion.bytes);
    const auto piece = rest.first(std::min(rest.size(), kPieceBytes));
    const std::uint64_t offset = request.offset + completion.bytes;
    const io::Completion moved =
        request.op == io::Op::read ? file.read(offset, piece) : file.write(offset, piece);
    completion.error = moved.error;
    completion.bytes += moved.bytes;
    if (moved.bytes < piece.size()) return;
    deliver();
  }
}

}  // namespace xxl::bench
