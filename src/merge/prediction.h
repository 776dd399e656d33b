// The prediction sequence: the order in which a merge needs the blocks of its runs.
//
// A block is not needed before its first key, the trigger, becomes the smallest unread one. So the
// triggers of all runs in order are the order of the fetches (Dementiev and Sanders, SPAA'03,
// section 2.2). Ties are broken by run and place in the run, which is the order of a stable merge.
// Where triggers are cut keys, a tie says nothing, and the first tied blocks of all runs come
// before the second ones, so that the merge knows real keys of every run.
//
// The sequence is produced step by step, by a heap over the runs, so that it takes no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "run/run.h"

namespace xxl {

struct BlockRef {
  std::uint32_t run = 0;
  std::uint32_t block = 0;
  friend bool operator==(const BlockRef&, const BlockRef&) = default;
};

class PredictionSequence {
 public:
  // `runs` must outlive the sequence. `exact_triggers`: triggers are whole keys.
  PredictionSequence(const std::vector<Run>& runs, bool exact_triggers);

  bool finished() const { return heap_.empty(); }
  BlockRef next();

 private:
  struct BlockTrigger {
    Trigger trigger;
    std::uint32_t tied;  // blocks of this run with the same trigger before this one; 0 when exact
    BlockRef ref;
    bool operator>(const BlockTrigger& other) const;
  };
  void push(BlockRef ref, std::uint32_t tied);

  const std::vector<Run>& runs_;
  bool exact_;
  std::priority_queue<BlockTrigger, std::vector<BlockTrigger>, std::greater<>> heap_;
};

// A block that a merge needs, and where from.
struct NeededBlock {
  BlockRef ref;
  std::uint8_t disk = 0;
  std::uint32_t size = 1;  // of its buffer, in any unit
};

// The blocks that a merge needs, one a call, in the order of need; nothing when there are no more
// for now.
using NeededBlocks = std::function<std::optional<NeededBlock>()>;

// The prediction sequence of `runs`, which must outlive it.
NeededBlocks predicted_blocks(const std::vector<Run>& runs, bool exact_triggers);

// The order in which fetches are issued: that of need, rearranged so that `disks` disks are kept
// busy with `buffers` (in the unit of the blocks' sizes; merge/prefetch_schedule.h), a window at a
// time.
class FetchOrder {
 public:
  FetchOrder(NeededBlocks needed, unsigned disks, std::size_t buffers)
      : needed_(std::move(needed)), disks_(disks), buffers_(buffers) {}

  // True when there are no more for now.
  bool finished();
  BlockRef front();
  BlockRef next();

 private:
  void fill_window();

  NeededBlocks needed_;
  unsigned disks_;
  std::size_t buffers_;
  std::vector<NeededBlock> window_;
  std::vector<std::uint32_t> order_;  // of its blocks
  std::size_t at_ = 0;                // in it
};

}  // namespace xxl
