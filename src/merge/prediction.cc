#include "merge/prediction.h"

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "merge/prefetch_schedule.h"

namespace xxl {

bool PredictionSequence::Entry::operator>(const Entry& other) const {
  return std::tie(trigger, tied, ref.run, ref.block) >
         std::tie(other.trigger, other.tied, other.ref.run, other.ref.block);
}

PredictionSequence::PredictionSequence(const std::vector<Run>& runs, bool exact_triggers)
    : runs_(runs), exact_(exact_triggers) {
  for (std::uint32_t run = 0; run < runs.size(); ++run) {
    if (!runs[run].blocks.empty()) push({run, 0}, 0);
  }
}

void PredictionSequence::push(BlockRef ref, std::uint32_t tied) {
  heap_.push({runs_[ref.run].blocks[ref.block].trigger, exact_ ? 0 : tied, ref});
}

BlockRef PredictionSequence::next() {
  const Entry entry = heap_.top();
  heap_.pop();
  const auto& blocks = runs_[entry.ref.run].blocks;
  const std::uint32_t following = entry.ref.block + 1;
  if (following < blocks.size()) {
    push({entry.ref.run, following},
         blocks[following].trigger == entry.trigger ? entry.tied + 1 : 0);
  }
  return entry.ref;
}

FetchOrder::FetchOrder(const std::vector<Run>& runs, bool exact_triggers, unsigned disks,
                       std::size_t prefetch_blocks)
    : runs_(runs),
      sequence_(runs, exact_triggers),
      disks_(disks),
      prefetch_blocks_(prefetch_blocks) {}

bool FetchOrder::finished() {
  if (at_ == window_.size()) fill_window();
  return at_ == window_.size();
}

BlockRef FetchOrder::next() {
  XXL_CHECK(!finished());
  return window_[at_++];
}

void FetchOrder::fill_window() {
  const std::size_t window_blocks =
      disks_ == 1 ? 256 : std::max<std::size_t>(1024, 16 * prefetch_blocks_);
  window_.clear();
  at_ = 0;
  while (window_.size() < window_blocks && !sequence_.finished())
    window_.push_back(sequence_.next());
  if (disks_ == 1) return;
  std::vector<std::uint8_t> disk_of;
  disk_of.reserve(window_.size());
  for (const BlockRef& ref : window_) {
    const Run& run = runs_[ref.run];
    disk_of.push_back(run.in_scratch() ? run.place(run.blocks[ref.block]).disk : std::uint8_t{0});
  }
  std::vector<BlockRef> ordered;
  ordered.reserve(window_.size());
  for (const std::uint32_t index : prefetch_schedule(disk_of, disks_, prefetch_blocks_)) {
    ordered.push_back(window_[index]);
  }
  window_ = std::move(ordered);
}

}  // namespace xxl
