#include "memory_disk.h"

#include <algorithm>

#include "base/error.h"

namespace xxl::bench {

MemoryDisk::MemoryDisk(const DiskModel& model) : model_(model), places_(model.depth) {
  XXL_CHECK(model.depth > 0 && model.read_bandwidth > 0 && model.write_bandwidth > 0);
  for (Transfer& place : places_) free_.push(&place);
}

Time MemoryDisk::duration_of(const io::Request& request) const {
  const double bandwidth =
      request.op == io::Op::read ? model_.read_bandwidth : model_.write_bandwidth;
  return Time(static_cast<double>(request.data.size()) / bandwidth);
}

// With the lock held.
void MemoryDisk::note_changes() {
  may_start_.store(!free_.empty() && !(writes_.empty() && reads_.empty()),
                   std::memory_order_relaxed);
  next_due_.store(moved_.empty() ? kNever : moved_.top().first.count(), std::memory_order_relaxed);
}

void MemoryDisk::submit(io::Request request, Time now) {
  std::lock_guard lock(mutex_);
  (request.op == io::Op::write ? writes_ : reads_).push({std::move(request), now});
  note_changes();
}

MemoryDisk::Transfer* MemoryDisk::start() {
  if (!may_start_.load(std::memory_order_relaxed)) return nullptr;
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || free_.empty()) return nullptr;
  std::queue<Waiting>& waiting = writes_.empty() ? reads_ : writes_;
  if (waiting.empty()) return nullptr;
  Transfer* const transfer = free_.front();
  free_.pop();
  // Not the time at which a mover comes here: its delays are not those of the disk.
  const Time begin = std::max(waiting.front().submitted, transfer->due);
  transfer->request = std::move(waiting.front().request);
  transfer->completion = {};
  waiting.pop();
  channel_ = std::max(begin + model_.latency, channel_) + duration_of(transfer->request);
  transfer->due = channel_;
  note_changes();
  return transfer;
}

void MemoryDisk::moved(Transfer* transfer) {
  std::lock_guard lock(mutex_);
  moved_.emplace(transfer->due, transfer);
  note_changes();
}

std::size_t MemoryDisk::deliver(Time now) {
  std::size_t count = 0;
  while (next_due_.load(std::memory_order_relaxed) <= now.count()) {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || moved_.empty() || moved_.top().first > now) break;
    Transfer* const transfer = moved_.top().second;
    moved_.pop();
    // Another mover may have read the clock later and come earlier.
    behind_ += std::max(now - std::max(transfer->due, told_), Time(0));
    told_ = std::max(told_, now);
    const io::Request request = std::exchange(transfer->request, {});
    const io::Completion completion = transfer->completion;
    free_.push(transfer);
    note_changes();
    lock.unlock();
    request.done(completion);
    ++count;
  }
  return count;
}

Time MemoryDisk::behind() const {
  std::lock_guard lock(mutex_);
  return behind_;
}

}  // namespace xxl::bench
