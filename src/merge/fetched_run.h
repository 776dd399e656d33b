// What a merge has in memory of one run.
//
//   block   0 1 2   3 4 5   6 7 8 9
//           released| there |. r = .       . absent    r being read    = there
//                           ^ first_missing()
//
// Blocks arrive in any order; records can be used up to the first block that is missing. A record
// is named by its number in the run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/partition_index.h"
#include "run/run.h"
#include "sort/segment.h"

namespace xxl {

class FetchedRun {
 public:
  // `run` must outlive it. `record_bytes`: of each of its records.
  FetchedRun(const Run& run, std::size_t record_bytes) : run_(&run), record_bytes_(record_bytes) {}

  const Run& run() const { return *run_; }
  std::uint32_t first_missing() const { return missing_; }
  // Records before this one are in memory, or were released.
  std::uint64_t records_in_memory() const { return records_before(missing_); }
  // The last of them; null if none is in memory.
  const std::byte* last_record() const {
    return missing_ == first_ ? nullptr : record(records_in_memory() - 1);
  }

  // Record `index`, which is in memory.
  const std::byte* record(std::uint64_t index) const {
    const std::size_t per_block = run_->records_per_block;
    return blocks_[index / per_block - first_].records + index % per_block * record_bytes_;
  }
  // First record in [low, high) for which before(record) no longer holds; looks near `low` first.
  template <class Before>
  std::uint64_t partition_point(std::uint64_t low, std::uint64_t high, Before before) const {
    std::uint64_t step = 1;
    while (low + step <= high && before(record(low + step - 1))) {
      low += step;
      step *= 2;
    }
    return partition_index(low, std::min(high, low + step - 1),
                           [&](std::uint64_t index) { return before(record(index)); });
  }
  // Appends where records [first, end) lie.
  void append_segments(std::uint64_t first, std::uint64_t end,
                       std::vector<Segment>& segments) const {
    const std::size_t per_block = run_->records_per_block;
    while (first < end) {
      const std::uint64_t block_end = (first / per_block + 1) * per_block;
      const std::uint64_t part = std::min(end, block_end) - first;
      segments.push_back({record(first), part});
      first += part;
    }
  }

  // --- what becomes of its blocks; buffers belong to the caller ---

  // Whether `block` is absent.
  bool lacks(std::uint32_t block) const {
    return block >= first_ && (block - first_ >= blocks_.size() ||
                               blocks_[block - first_].state == BlockState::absent);
  }
  // `block`, which is absent, is being read.
  void start(std::uint32_t block) {
    XXL_CHECK(lacks(block));
    if (blocks_.size() <= block - first_) blocks_.resize(block - first_ + 1);
    blocks_[block - first_].state = BlockState::reading;
  }
  // It has been read: `records` lie in `buffer`. Returns whether it came for the first time.
  bool arrive(std::uint32_t block, std::byte* buffer, const std::byte* records) {
    FetchedBlock& arrived = blocks_[block - first_];
    const bool first_time = !arrived.came_before;
    arrived = {BlockState::there, true, buffer, records};
    while (missing_ - first_ < blocks_.size() &&
           blocks_[missing_ - first_].state == BlockState::there) {
      ++missing_;
    }
    return first_time;
  }
  // Lets go of the first block, if it is there and its records all come before `record`. Returns
  // its buffer, else null.
  std::byte* release_before(std::uint64_t record) {
    if (first_ == missing_ || records_before(first_ + 1) > record) return nullptr;
    std::byte* const buffer = blocks_.front().buffer;
    blocks_.pop_front();
    ++first_;
    return buffer;
  }
  // Number of the block that release_before() would let go of.
  std::uint32_t first_block() const { return first_; }
  // The last block that is there, unless it is the first of all not released.
  std::optional<std::uint32_t> last_block() const {
    std::size_t count = blocks_.size();
    while (count > 0 && blocks_[count - 1].state != BlockState::there) --count;
    if (count < 2) return std::nullopt;
    return static_cast<std::uint32_t>(first_ + count - 1);
  }
  // `block`, which is there, becomes absent. Returns its buffer.
  std::byte* drop(std::uint32_t block) {
    FetchedBlock& dropped = blocks_[block - first_];
    XXL_CHECK(dropped.state == BlockState::there);
    dropped.state = BlockState::absent;
    missing_ = std::min(missing_, block);
    return dropped.buffer;
  }

 private:
  enum class BlockState : std::uint8_t { absent, reading, there };
  struct FetchedBlock {
    BlockState state = BlockState::absent;
    bool came_before = false;  // a block may be dropped and read again
    std::byte* buffer = nullptr;
    const std::byte* records = nullptr;  // in `buffer`
  };

  std::uint64_t records_before(std::uint32_t block) const {
    return std::min(std::uint64_t{block} * run_->records_per_block, run_->records);
  }

  const Run* run_;
  std::size_t record_bytes_;
  std::deque<FetchedBlock> blocks_;  // from first_ on
  std::uint32_t first_ = 0;          // blocks before were released
  std::uint32_t missing_ = 0;        // blocks [first_, missing_) are there
};

}  // namespace xxl
