#include "merge/general_merger.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "merge/prefetch_schedule.h"

namespace xxl {
namespace {

// A cell whose blocks take up more of the memory for blocks is streamed.
constexpr std::size_t kMostOfMemory = 3;  // quarters

}  // namespace

GeneralMerger::GeneralMerger(std::vector<MergeSource> sources, std::vector<MergeSide> sides,
                             std::uint64_t cell_bytes, std::vector<CellWorkspace> workspaces,
                             BlockMemory& blocks, CellWork& work, Workers& workers,
                             Monitor& monitor, const KeyRange& range)
    : contents_(std::move(sources), std::move(sides), cell_bytes, range),
      workspaces_(std::move(workspaces)),
      memory_(blocks),
      work_(work),
      workers_(workers),
      monitor_(monitor),
      first_cell_(contents_.first_cell()),
      end_cell_(contents_.end_cell()),
      cell_(contents_.cells()) {
  plan_fetches(choose_streamed());
}

// Finds out which cells can be held. Returns what the blocks of the largest of these take.
std::size_t GeneralMerger::choose_streamed() {
  std::vector<std::int64_t> bytes(cell_.size() + 1);  // differences of what a cell needs
  for (const MergeBlock& block : contents_.blocks()) {
    const auto size = static_cast<std::int64_t>(contents_.buffer_bytes(block));
    bytes[block.cells.first] += size;
    bytes[block.cells.last + 1] -= size;
  }
  std::int64_t needed = 0, most_held = 0;
  const auto most = static_cast<std::int64_t>(memory_.extents().total_bytes() / 4 * kMostOfMemory);
  for (std::size_t cell = 0; cell < cell_.size(); ++cell) {
    needed += bytes[cell];
    if (cell < first_cell_ || cell >= end_cell_) {
      cell_[cell].kind = CellKind::outside;
      continue;
    }
    if (needed <= most) {
      most_held = std::max(most_held, needed);
      continue;
    }
    cell_[cell].kind = CellKind::streamed;
    streamed_.push_back(cell);
  }
  return static_cast<std::size_t>(most_held);
}

// The first one that waits for `block`.
std::uint32_t GeneralMerger::first_sorted_cell(const MergeBlock& block) const {
  std::uint32_t cell = block.cells.first;
  while (cell_[cell].kind != CellKind::sorted) ++cell;
  return cell;
}

// The order of need is that of the first cell that waits for a block. Cells that are streamed read
// their blocks themselves. `held`: what the blocks of a cell take at most, whose memory the
// schedule must not count on.
void GeneralMerger::plan_fetches(std::size_t held) {
  const std::span<MergeBlock> blocks = contents_.blocks();
  std::size_t bytes = 0;
  needed_.reserve(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    MergeBlock& block = blocks[i];
    block.cells_left = block.cells.last - block.cells.first + 1;
    for (std::uint32_t cell = block.cells.first; cell <= block.cells.last; ++cell) {
      if (cell_[cell].kind != CellKind::sorted) continue;
      ++block.users;
      ++cell_[cell].missing;
    }
    if (block.users == 0) continue;
    needed_.push_back(static_cast<std::uint32_t>(i));
    bytes += contents_.buffer_bytes(block);
  }
  std::sort(needed_.begin(), needed_.end(), [&](std::uint32_t a, std::uint32_t b) {
    const std::uint32_t x = first_sorted_cell(blocks[a]), y = first_sorted_cell(blocks[b]);
    return x != y ? x < y : a < b;
  });
  unsigned disks = 1;
  for (const MergeSide& side : contents_.sides()) {
    if (side.scratch != nullptr) disks = std::max(disks, side.scratch->disks());
  }
  const std::size_t spare = memory_.extents().total_bytes() - held;
  const std::size_t two_a_disk = needed_.empty() ? 0 : 2 * disks * bytes / needed_.size();
  const std::size_t scheduled = std::min(scheduled_buffers(spare, two_a_disk), spare);
  order_.emplace([this, at = std::size_t{0}]() mutable { return next_needed(at); }, disks,
                 std::max<std::size_t>(scheduled / kSectorBytes, 1));
}

// Nothing of what lies behind a streamed cell is fetched before that is done.
std::optional<NeededBlock> GeneralMerger::next_needed(std::size_t& at) const {
  if (at == needed_.size()) return std::nullopt;
  const MergeBlock& block = contents_.blocks()[needed_[at]];
  if (streamed_done_ < streamed_.size() && first_sorted_cell(block) > streamed_[streamed_done_]) {
    return std::nullopt;
  }
  ++at;
  const GeneralRun& run = contents_.run_of(block);
  return NeededBlock{{block.source, block.index},
                     run.places_of(run.blocks[block.index]).front().disk,
                     static_cast<std::uint32_t>(contents_.buffer_bytes(block) / kSectorBytes)};
}

void GeneralMerger::run(const std::function<void(std::uint64_t)>& on_progress) {
  advance();
  monitor_.run([&] {
    std::uint64_t reported = 0;
    for (;;) {
      std::uint64_t done;
      bool finished;
      {
        auto lock = monitor_.lock();
        const auto is_finished = [&] {
          return cells_done_ == end_cell_ || (has_enough_ && cells_done_ == next_cell_);
        };
        monitor_.wait(lock, [&] { return is_finished() || bytes_done_ != reported; });
        finished = is_finished();
        done = bytes_done_;
      }
      on_progress(done - reported);
      reported = done;
      if (finished) break;
    }
  });
  monitor_.check();
}

// Starts whatever can be started: fetches while there is memory, cells that are complete.
void GeneralMerger::advance() {
  std::vector<std::uint32_t> fetches;
  {
    auto lock = monitor_.lock();
    if (has_enough_) return;
    fetches = take_fetches();
    reads_ += fetches.size();
    for (; next_cell_ < end_cell_; ++next_cell_) {
      const std::size_t cell = next_cell_;
      const bool streamed = cell_[cell].kind == CellKind::streamed;
      // A streamed cell runs alone: it has all the free memory.
      const bool after_streamed = cell > 0 && cell_[cell - 1].kind == CellKind::streamed;
      if ((streamed || after_streamed) && cells_done_ < cell) break;
      if (cell_[cell].missing > 0) break;
      // With the lock held, so that workers get the cells in order: a later one waits for the
      // turn of an earlier one.
      workers_.run([this, cell, token = in_flight_.begin()](unsigned thread) mutable {
        monitor_.guard([&] {
          merge_cell(cell, thread);
          cell_done(cell);
        });
        token.reset();
      });
    }
  }
  for (const std::uint32_t block : fetches) fetch(block);
}

// With the lock held: blocks to be fetched now; they have buffers.
std::vector<std::uint32_t> GeneralMerger::take_fetches() {
  std::vector<std::uint32_t> fetches;
  while (!order_->finished()) {
    const BlockRef ref = order_->front();
    const std::size_t index = contents_.first_block(ref.run) + ref.block;
    MergeBlock& block = contents_.blocks()[index];
    const std::size_t bytes = contents_.buffer_bytes(block);
    std::byte* buffer = memory_.extents().take(bytes);
    const bool own =
        buffer == nullptr && reads_ == 0 && fetches.empty() && cells_done_ == next_cell_;
    if (own) {
      // The free memory is fragmented, and no more will become free: rare, as it takes blocks of
      // different sizes; rather allocate a little more than give up.
      memory_.extents().drop_pages();
      buffer = static_cast<std::byte*>(std::aligned_alloc(kSectorBytes, bytes));
      if (buffer == nullptr) throw Error(ErrorCode::no_space, "out of memory for a block");
    }
    if (buffer == nullptr) break;
    block.loaded = std::make_unique<LoadedBlock>();
    block.loaded->buffer = buffer;
    if (own) block.loaded->own_memory.reset(buffer);
    fetches.push_back(static_cast<std::uint32_t>(index));
    order_->next();
  }
  return fetches;
}

// With the lock held.
void GeneralMerger::give_back(MergeBlock& block) {
  if (block.loaded->own_memory == nullptr) {
    memory_.extents().give_back(block.loaded->buffer, contents_.buffer_bytes(block));
  }
  block.loaded.reset();
  bytes_done_ += contents_.bytes_of(block);
}

void GeneralMerger::fetch(std::size_t index) {
  const MergeBlock& block = contents_.blocks()[index];
  contents_.scratch_of(block).read(contents_.run_of(block), block.index, block.loaded->buffer,
                                   [this, index, token = in_flight_.begin()] {
                                     monitor_.guard([&] {
                                       workers_.run([this, index, token = token](unsigned) mutable {
                                         monitor_.guard([&] { arrived(index); });
                                         token.reset();
                                       });
                                     });
                                   });
}

// Checks a block, finds its cuts, and wakes the cells it lies in.
void GeneralMerger::arrived(std::size_t index) {
  MergeBlock& block = contents_.blocks()[index];
  contents_.scratch_of(block).open(contents_.run_of(block), block.index, block.loaded->buffer);
  contents_.find_cuts(block);
  {
    auto lock = monitor_.lock();
    --reads_;
    for (std::size_t cell = block.cells.first; cell <= block.cells.last; ++cell) {
      if (cell_[cell].kind == CellKind::sorted) --cell_[cell].missing;
    }
  }
  advance();
}

void GeneralMerger::merge_cell(std::size_t cell, unsigned thread) {
  {
    auto lock = monitor_.lock();
    if (has_enough_) {
      lock.unlock();
      return work_.skip(cell - first_cell_);
    }
  }
  const bool streamed = cell_[cell].kind == CellKind::streamed;
  bool more;
  if (streamed) {
    std::vector<RecordMerge> merges = contents_.merge_streamed(cell, work_.marks_same(), memory_);
    more = work_.stream(cell - first_cell_, merges);
  } else {
    more = contents_.take_cell({cell}, workspaces_[thread], cell - first_cell_, work_);
  }
  if (more) return;
  auto lock = monitor_.lock();
  has_enough_ = true;
}

void GeneralMerger::cell_done(std::size_t cell) {
  monitor_.change([&] {
    const bool is_sorted = cell_[cell].kind == CellKind::sorted;
    contents_.for_blocks_of(cell, [&](MergeBlock& block) {
      if (is_sorted && --block.users == 0) give_back(block);
      if (--block.cells_left == 0) contents_.release(block);
    });
    if (!is_sorted) ++streamed_done_;
    ++cells_done_;
  });
  advance();
}

}  // namespace xxl
