#include "io/block_mover.h"

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "base/units.h"

namespace xxl::io {

BlockMover::BlockMover(IoService& service, std::span<std::byte> memory, std::size_t block_bytes)
    : service_(service), memory_(memory), block_bytes_(block_bytes) {
  XXL_CHECK(block_bytes > 0 && block_bytes % kSectorBytes == 0 && memory.size() >= block_bytes);
}

std::uint64_t BlockMover::move(const Move& move) {
  move_ = move;
  next_place_ = 0;
  failure_ = {};
  buffers_at_work_ = memory_.size() / block_bytes_;
  for (std::size_t i = 0, count = buffers_at_work_; i < count; ++i) {
    next_block(memory_.subspan(i * block_bytes_, block_bytes_));
  }
  std::unique_lock lock(mutex_);
  all_retired_.wait(lock, [this] { return buffers_at_work_ == 0; });
  if (failure_.error != 0) {
    throw_io_error(failure_.error, failure_.op == Op::read ? Operation::read : Operation::write,
                   failure_.file->path(), failure_.offset);
  }
  return std::min(next_place_, move_.bytes);
}

void BlockMover::next_block(std::span<std::byte> buffer) {
  std::uint64_t place = 0;
  {
    std::lock_guard lock(mutex_);
    const bool over =
        next_place_ >= move_.bytes || failure_.error != 0 || Clock::now() >= move_.deadline;
    if (over) return retire();
    place = next_place_;
    next_place_ += block_bytes_;
  }
  move_.source != nullptr ? read(place, buffer) : write(place, buffer);
}

// mutex_ is held.
void BlockMover::retire() {
  if (--buffers_at_work_ == 0) all_retired_.notify_all();
}

void BlockMover::fail(const Failure& failure) {
  std::lock_guard lock(mutex_);
  if (failure_.error == 0) failure_ = failure;
  retire();
}

std::size_t BlockMover::bytes_at(std::uint64_t place) const {
  return static_cast<std::size_t>(std::min<std::uint64_t>(block_bytes_, move_.bytes - place));
}

void BlockMover::read(std::uint64_t place, std::span<std::byte> buffer) {
  const std::uint64_t offset = (move_.source_start + place) % move_.source_bytes;
  const auto done = [this, place, buffer, offset](const Completion& completion) {
    const bool short_read = completion.bytes < bytes_at(place);
    if (completion.error != 0 || short_read) {
      const int error = completion.error != 0 ? completion.error : ENODATA;
      return fail({error, Op::read, move_.source, offset});
    }
    move_.target != nullptr ? write(place, buffer) : next_block(buffer);
  };
  const auto data = buffer.first(round_up(bytes_at(place), kSectorBytes));
  service_.queue_for(*move_.source).submit({Op::read, move_.source, offset, data, done});
}

void BlockMover::write(std::uint64_t place, std::span<std::byte> buffer) {
  const auto done = [this, place, buffer](const Completion& completion) {
    if (completion.error != 0) return fail({completion.error, Op::write, move_.target, place});
    next_block(buffer);
  };
  const auto data = buffer.first(round_up(bytes_at(place), kSectorBytes));
  service_.queue_for(*move_.target).submit({Op::write, move_.target, place, data, done});
}

}  // namespace xxl::io
