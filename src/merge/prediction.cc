#include "merge/prediction.h"

#include <tuple>

#include "base/error.h"
#include "merge/prefetch_schedule.h"

namespace xxl {

bool PredictionSequence::BlockTrigger::operator>(const BlockTrigger& other) const {
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
  const BlockTrigger first = heap_.top();
  heap_.pop();
  const auto& blocks = runs_[first.ref.run].blocks;
  const std::uint32_t following = first.ref.block + 1;
  if (following < blocks.size()) {
    push({first.ref.run, following},
         blocks[following].trigger == first.trigger ? first.tied + 1 : 0);
  }
  return first.ref;
}

NeededBlocks predicted_blocks(const std::vector<Run>& runs, bool exact_triggers) {
  return [&runs, sequence = PredictionSequence(
                     runs, exact_triggers)]() mutable -> std::optional<NeededBlock> {
    if (sequence.finished()) return std::nullopt;
    NeededBlock block{sequence.next()};
    const Run& run = runs[block.ref.run];
    if (run.in_scratch()) block.disk = run.places_of(run.blocks[block.ref.block]).front().disk;
    return block;
  };
}

bool FetchOrder::finished() {
  if (at_ == window_.size()) fill_window();
  return at_ == window_.size();
}

BlockRef FetchOrder::front() {
  XXL_CHECK(!finished());
  return window_[order_[at_]].ref;
}

BlockRef FetchOrder::next() {
  const BlockRef ref = front();
  ++at_;
  return ref;
}

void FetchOrder::fill_window() {
  const std::size_t least_blocks = disks_ == 1 ? 256 : 1024;
  const std::size_t least_size = disks_ == 1 ? 0 : 16 * buffers_;
  window_.clear();
  at_ = 0;
  std::vector<std::uint8_t> disk_of;
  std::vector<std::uint32_t> size_of;
  for (std::size_t size = 0; window_.size() < least_blocks || size < least_size;) {
    const std::optional<NeededBlock> block = needed_();
    if (!block) break;
    window_.push_back(*block);
    disk_of.push_back(block->disk);
    size_of.push_back(block->size);
    size += block->size;
  }
  order_ = prefetch_schedule(disk_of, disks_, buffers_, size_of);
}

}  // namespace xxl
