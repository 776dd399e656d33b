// Merges sorted runs into one stream, on all cores, with the disks kept busy.
//
// Fetched blocks wait in memory (the overlap FIFO); what can be merged is all records below the
// smallest key that an unfetched block may hold:
//
//     run 0   ===|=====|..            = in memory     . not fetched
//     run 1   ======|======|..        bound: the smallest of the unfetched triggers
//     run 2   =====|===|..
//                  ^bound
//
// That region is cut by keys sampled from it into pieces of cache size; each is sorted by one
// worker (sort/piece_sorter.h says why sorted and not merged by a tree) and leaves through the
// output stage. Fetching, cutting, sorting and writing go on side by side; one coordinator thread,
// woken by its mailbox, decides.
//
// An accelerator may take over (hand_over()): regions are then cut into larger pieces, for sorters
// of its own; all else stays as it is.
//
// Runs that are sorted only by cells (run/cell_grid.h) are never cut inside a cell: a cell that is
// small enough in all runs together is taken whole, when all of it has arrived; its pieces need no
// search for cuts. In a larger cell, what a run holds of it unsorted is sorted where it lies in
// memory before anything is cut off it.
//
// The bound uses real keys, not their order of prediction: for a run with a block in memory it is
// the larger of its next trigger and its last key in memory. So a trigger may be cut to a few
// bytes. If memory is full of blocks that cannot be merged (possible only with tied cut triggers),
// the farthest block is dropped, to be fetched again, and the block that sets the bound is fetched
// in its place: with one buffer more than there are runs the merge always goes on.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/in_flight.h"
#include "base/mailbox.h"
#include "base/workers.h"
#include "io/buffer_pool.h"
#include "io/io_queue.h"
#include "merge/prediction.h"
#include "run/output_stage.h"
#include "run/run.h"
#include "run/run_store.h"
#include "sort/chunk_sorter.h"
#include "sort/piece_sorter.h"

namespace xxl {

// Sorters of an accelerator, which need larger pieces than a cache holds.
struct LargePieces {
  std::vector<PieceSorter*> sorters;  // each sorts on any thread, one piece at a time
  std::size_t piece_records = 0;      // target size of a piece; no less than that of other pieces
  std::size_t piece_capacity = 0;     // of the sorters, more than twice that
};

// The surroundings of a merge; everything must outlive it.
struct MergeContext {
  const KeyLayout& layout;
  io::IoService& io;
  Workers& workers;
  Mailbox& mailbox;
  RunStore* store;                                     // null if no run is in scratch
  std::vector<std::unique_ptr<PieceSorter>>& sorters;  // one a worker thread
  std::size_t piece_records;                           // target size of a piece
  std::size_t piece_capacity;                          // of the sorters, at least twice that
  // For runs with cells: memory for piece_capacity records, one a worker thread.
  std::vector<std::span<std::byte>> spare = {};
  // Its kept records are merged with the runs, all of which have its cells; no cell with kept
  // records has more than piece_capacity. Null: nothing is kept.
  const ChunkSorter* keeper = nullptr;
};

class RunMerger {
 public:
  // Buffers in `blocks` hold a block of any run (plus two sectors for runs outside scratch). There
  // must be at least one more than runs, and fewer runs than `piece_records`; for runs with cells,
  // more than blocks_held() of them.
  RunMerger(const MergeContext& context, const std::vector<Run>& runs, io::BufferPool& blocks,
            OutputStage& output);

  // Most buffers that records not yet mergeable may occupy.
  static std::size_t blocks_held(const std::vector<Run>& runs, std::size_t piece_capacity);

  // From the next region on, `pieces.sorters` sort, which must outlive the merger. Not for runs
  // with cells.
  void hand_over(LargePieces pieces);
  // Does what can be done now without waiting.
  void pump();
  // Nothing more is needed except the pieces under way.
  void stop() { total_ = merged_; }
  // True when every record has left through the output stage.
  bool finished() const { return merged_ == total_ && pieces_.empty(); }
  // Nothing is under way: if it has not finished, it waits for room in the output.
  bool idle() const { return pieces_running_ == 0 && reading_ == 0 && sorting_ == 0; }
  bool waits_for_read() const { return pieces_running_ == 0 && reading_ > 0; }
  bool waits_for_write() const { return pieces_running_ == 0 && output_full_; }
  std::uint64_t records_merged() const { return merged_; }
  // Of the blocks read from runs outside scratch.
  const MultisetHash& files_hash() const { return files_hash_; }
  std::uint64_t refetched_blocks() const { return refetched_; }
  // Of records_merged(): in large pieces.
  std::uint64_t records_handed_over() const { return handed_over_; }

 private:
  enum class State : std::uint8_t { absent, reading, arrived };
  struct Loaded {
    State state = State::absent;
    bool counted = false;  // in files_hash_; a block may be read again
    std::byte* buffer = nullptr;
    const std::byte* records = nullptr;
  };
  struct RunState {
    std::deque<Loaded> loaded;  // blocks from `first_block` on
    std::uint32_t first_block = 0;
    std::uint32_t arrived = 0;     // blocks [first_block, arrived) are in memory
    std::uint64_t position = 0;    // first record that no piece has taken
    std::uint64_t usable = 0;      // records before this one are in memory and may be cut
    std::size_t cell = 0;          // the run's cell that `usable` lies in
    bool sorting = false;          // that cell is being sorted
    std::uint64_t region_end = 0;  // first record that must not be merged yet
  };
  // Lower bound of the keys in a run that are not usable: a trigger, or a record in memory.
  struct Bound {
    Trigger trigger;
    const std::byte* record = nullptr;
    std::uint32_t run = 0;
    bool none = true;  // everything is usable
  };
  struct Sample {
    std::uint64_t prefix;
    const std::byte* record;
    std::uint32_t run;
    std::uint64_t index;  // of the record in the run
  };
  // A piece cut off the region.
  struct Cut {
    std::uint64_t records = 0;
    std::vector<Segment> segments;
    std::vector<std::uint64_t> ends;  // for each run, the record after its last
  };
  struct PieceProgress {
    bool done = false;
    std::vector<std::uint64_t> ends;
  };

  void fetch();
  void start_read(BlockRef ref);
  void start_read_of_file(BlockRef ref);
  void arrived(BlockRef ref, std::size_t lead);
  void check(BlockRef ref, std::byte* records) const;
  Loaded& loaded(BlockRef ref);
  const std::byte* record(std::uint32_t run, std::uint64_t index) const;
  std::uint64_t records_in_memory(std::uint32_t run) const;

  std::uint64_t bound_word(const Bound& bound, std::size_t index) const;
  Bound bound_of(std::uint32_t run) const;
  Bound smallest_bound() const;
  std::uint64_t records_below(const Bound& bound, std::uint32_t run) const;
  template <class Before>
  std::uint64_t partition_point(std::uint32_t run, std::uint64_t low, std::uint64_t high,
                                Before before) const;

  void advance(std::uint32_t run);
  void sort_cell(std::uint32_t run);
  bool takes_whole(std::size_t cell) const {
    return grid_ != nullptr && cell_records_[cell] <= context_.piece_capacity;
  }
  std::uint64_t cell_end(std::uint32_t run) const;
  bool plan_region();
  bool plan_whole_cells();
  std::size_t piece_records() const {
    return region_is_large_ ? large_->piece_records : context_.piece_records;
  }
  void choose_splitters(std::uint64_t records);
  std::uint64_t end_before(const Sample& splitter, std::uint32_t run) const;
  void cut_next();
  void append_segments(std::uint32_t run, std::uint64_t first, std::uint64_t end,
                       std::vector<Segment>& segments) const;
  bool cut_piece();
  void sort_piece(std::uint64_t ticket, std::size_t bytes, std::vector<Segment> segments);
  void sort_large_piece(std::uint64_t ticket, std::size_t bytes, std::vector<Segment> segments,
                        PieceSorter& sorter);
  void piece_done(std::uint64_t ticket);
  void release_blocks(std::uint32_t run, std::uint64_t position);
  void break_stall();
  void drop_farthest_block();

  const MergeContext& context_;
  const std::vector<Run>& runs_;
  io::BufferPool& blocks_;
  OutputStage& output_;
  FetchOrder order_;
  std::vector<RunState> states_;
  const CellGrid* grid_ = nullptr;           // common to all runs, if there is one
  std::vector<std::uint64_t> cell_records_;  // of all runs
  std::size_t cell_ = 0;                     // the first one not yet merged
  std::size_t kept_from_ = 0;                // of the region: the first cell with kept records
  std::size_t sorting_ = 0;                  // cells of runs being sorted
  std::deque<BlockRef> refetch_;             // dropped, to be fetched again
  std::optional<LargePieces> large_;         // once they have been handed over
  std::vector<PieceSorter*> large_free_;     // of its sorters
  bool region_is_large_ = false;             // the region is cut for them
  std::vector<Sample> splitters_;            // of the region, the next one last
  std::uint64_t region_records_ = 0;         // of the region, not taken by pieces
  std::optional<Cut> cut_;                   // cut, waiting for room in the output
  std::deque<PieceProgress> pieces_;         // under way, in order
  std::uint64_t first_piece_ = 0;            // number of pieces_.front()
  std::size_t pieces_running_ = 0;
  std::size_t reading_ = 0;
  bool output_full_ = false;
  std::uint64_t total_ = 0;
  std::uint64_t merged_ = 0;       // records taken by pieces
  std::uint64_t handed_over_ = 0;  // of them, by large ones
  std::uint64_t refetched_ = 0;
  MultisetHash files_hash_;
  InFlight in_flight_;
};

}  // namespace xxl
