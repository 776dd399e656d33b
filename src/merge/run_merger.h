// Merges sorted runs into one stream, on all cores, with the disks kept busy.
//
//   fetched_blocks.h    blocks, fetched in predicted order, wait in memory
//   common_cells.h      where runs are sorted only by cells, no cut may go through these
//   usable_records.h    of what is in memory, all below the smallest key that may be missing
//   merge_region.h      is cut, by keys sampled from it, into pieces of cache size
//   run_merger.h        each of which one worker sorts, and writes through the output stage
//
// sort/piece_sorter.h says why pieces are sorted and not merged by a tree. Fetching, cutting,
// sorting and writing go on side by side; one coordinator thread, woken by its mailbox, decides.
//
// An accelerator may take over (hand_over()): regions are then cut into larger pieces, for sorters
// of its own; all else stays as it is.
//
// With one buffer more than there are runs, and than cells occupy, the merge always goes on: if
// memory is full of blocks that cannot be merged (possible only with tied cut triggers), the block
// that sets the bound is fetched in place of the farthest one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/in_flight.h"
#include "io/buffer_pool.h"
#include "merge/common_cells.h"
#include "merge/fetched_blocks.h"
#include "merge/merge_context.h"
#include "merge/merge_region.h"
#include "merge/usable_records.h"
#include "run/output_stage.h"
#include "run/run.h"
#include "sort/piece_sorter.h"

namespace xxl {

// Sorters of an accelerator, which need larger pieces than a cache holds.
struct LargePieces {
  std::vector<PieceSorter*> sorters;  // each sorts on any thread, one piece at a time
  std::size_t piece_records = 0;      // target size of a piece; no less than that of other pieces
  std::size_t piece_capacity = 0;     // of the sorters, more than twice that
};

class RunMerger {
 public:
  // Buffers in `blocks` hold a block of any run (plus two sectors for runs outside scratch). There
  // must be at least one more than runs, and fewer runs than `piece_records`; for runs with cells,
  // more than CommonCells::blocks_held() of them.
  RunMerger(const MergeContext& context, const std::vector<Run>& runs, io::BufferPool& blocks,
            OutputStage& output);

  // From the next region on, `pieces.sorters` sort, which must outlive the merger. Not for runs
  // with cells.
  void hand_over(LargePieces pieces);
  // Does what can be done now without waiting.
  void pump();
  // Nothing more is needed except what is under way.
  void stop() { total_ = merged_; }
  // True when every record has left through the output stage, and nothing that was read before a
  // stop() is on its way: its messages are for this merger.
  bool finished() const { return merged_ == total_ && pieces_.empty() && idle(); }
  // Nothing is under way: if it has not finished, it waits for room in the output.
  bool idle() const {
    return blocks_.reading() == 0 && pieces_running_ == 0 && usable_.sorting() == 0;
  }
  bool waits_for_read() const { return pieces_running_ == 0 && blocks_.reading() > 0; }
  bool waits_for_write() const { return pieces_running_ == 0 && output_full_; }
  std::uint64_t records_merged() const { return merged_; }
  // Of the blocks read from runs outside scratch.
  const MultisetHash& files_hash() const { return blocks_.files_hash(); }
  std::uint64_t refetched_blocks() const { return blocks_.refetched(); }
  // Of records_merged(): in large pieces.
  std::uint64_t records_handed_over() const { return handed_over_; }

 private:
  struct RunningPiece {
    OutputStage::Admission place;
    std::vector<std::uint64_t> ends;  // in each run
    bool done = false;
  };

  bool plan_region();
  bool plan_whole_cells();
  bool cut_piece();
  void check_fits(std::uint64_t records) const;
  void sort_piece(RunningPiece& piece, std::vector<Segment> segments, PieceSorter* large);
  void piece_done(RunningPiece& piece);

  const MergeContext& context_;
  const std::vector<Run>& runs_;
  OutputStage& output_;
  const CommonCells cells_;
  FetchedBlocks blocks_;
  UsableRecords usable_;
  MergeRegion region_;
  std::size_t cell_ = 0;                         // the first one of cells_ not in a region so far
  std::optional<LargePieces> large_;             // once they have been handed over
  std::vector<PieceSorter*> large_free_;         // of its sorters
  bool region_is_large_ = false;                 // the region is cut for them
  std::optional<MergeRegion::RegionPiece> cut_;  // waits for room in the output
  std::deque<RunningPiece> pieces_;              // and those done, but for ones before; in order
  std::size_t pieces_running_ = 0;
  bool output_full_ = false;
  std::uint64_t total_;
  std::uint64_t merged_ = 0;       // records taken by pieces
  std::uint64_t handed_over_ = 0;  // of them, by large ones
  InFlight in_flight_;
};

}  // namespace xxl
