// Merges runs of text, cell by cell. See docs/text.md. A CellWork consumes the cells: a sort writes
// their records to the output (cell_emitter.h), a join has runs of two inputs and joins each cell's
// records.
//
// All blocks are needed in the order of the first cell that they lie in, and fetched in the order
// that keeps all disks busy then (prediction.h). A cell whose blocks are there is sorted by a
// worker, each side for itself; several workers have one each. A cell that cannot be held is merged
// record by record, alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/in_flight.h"
#include "base/monitor.h"
#include "base/workers.h"
#include "merge/cell_work.h"
#include "merge/merge_source.h"
#include "merge/prediction.h"
#include "merge/record_merge.h"
#include "merge/run_cursor.h"
#include "merge/text_cells.h"
#include "record/key_extractor.h"
#include "run/text_run.h"
#include "run/text_scratch.h"
#include "sort/string_sort.h"

namespace xxl {

// Memory of one worker for sorting a cell.
struct CellWorkspace {
  std::span<StringItem> items;
  std::span<StringItem> scratch;
  std::span<std::byte> key_memory;
};

// What the runs of one input of a merge have in common.
struct MergeSide {
  const KeyExtractor* keys;
  TextScratch* scratch;  // the scratch of its runs; null if none is there
};

class TextMerger {
 public:
  // All references must outlive the merger. `sides`: what MergeSource::side counts. `blocks`:
  // memory for blocks.
  TextMerger(std::vector<MergeSource> sources, std::vector<MergeSide> sides,
             std::uint64_t cell_bytes, std::vector<CellWorkspace> workspaces, BlockMemory& blocks,
             CellWork& work, Workers& workers, Monitor& monitor);

  // Merges everything. Throws the first failure. `on_progress` is called with bytes done.
  void run(const std::function<void(std::uint64_t)>& on_progress);

  std::size_t cells() const { return cells_.count(); }

 private:
  enum class CellKind : std::uint8_t { sorted, streamed };
  // A block that is in memory, or on its way there.
  struct Loaded {
    std::byte* buffer = nullptr;
    std::unique_ptr<std::byte, decltype(&std::free)> own_memory{
        nullptr, &std::free};         // if it is not from the memory for blocks
    std::vector<std::uint32_t> cuts;  // where its cells but the first begin
  };
  // One for every block of the merge: run_tables.h counts what this takes.
  struct MergeBlock {
    std::uint32_t source;
    std::uint32_t index;
    CellRange cells;
    std::uint32_t users = 0;  // cells that still have to read it
    std::unique_ptr<Loaded> loaded;
  };
  struct CellState {
    CellKind kind = CellKind::sorted;
    std::uint32_t missing = 0;  // blocks
  };
  // Records of one run in one cell.
  struct CellPart {
    std::uint32_t source;
    const char* begin = nullptr;  // coded records of a block, or:
    const char* end = nullptr;
    std::size_t first_item = 0;  // of a resident run
    std::size_t last_item = 0;
  };
  class CellPartCursor;
  class BlockCursor;

  static TextCells plan_cells(const std::vector<MergeSource>& sources,
                              const std::vector<MergeSide>& sides, std::uint64_t cell_bytes);
  void list_blocks();
  std::size_t choose_streamed();
  std::uint32_t first_sorted_cell(const MergeBlock& block) const;
  void plan_fetches(std::size_t held);
  std::optional<NeededBlock> next_needed(std::size_t& at) const;
  std::span<MergeBlock> blocks_of(std::size_t source) {
    return std::span(blocks_).subspan(first_block_[source],
                                      first_block_[source + 1] - first_block_[source]);
  }
  void advance();
  std::vector<std::uint32_t> take_fetches();
  void fetch(std::size_t block);
  void arrived(std::size_t block);
  void cell_done(std::size_t cell);

  std::size_t cut(const MergeSource& source, const MergeBlock& block, const std::byte* buffer,
                  std::string_view boundary, std::size_t from,
                  std::vector<std::uint32_t>& starts) const;
  const MergeSide& side_of(const MergeSource& source) const { return sides_[source.side]; }
  std::size_t buffer_bytes(const MergeBlock& block) const {
    return TextScratch::buffer_bytes(sources_[block.source].run->blocks[block.index]);
  }
  std::size_t resident_cut(const MergeSource& source, std::string_view boundary) const;
  std::vector<CellPart> parts_of(std::size_t cell);
  void merge_cell(std::size_t cell, unsigned thread);
  void stream_cell(std::size_t cell);
  // What a cell's records are.
  struct Load {
    std::size_t records = 0;
    std::uint64_t bytes = 0;  // in the output, terminators included
    bool fits = true;
  };
  Load load_items(std::span<const CellPart> parts, std::span<StringItem> items) const;
  std::span<const CellPart> parts_of_side(const std::vector<CellPart>& parts,
                                          std::size_t side) const;
  bool sort_cell(std::size_t cell, const std::vector<CellPart>& parts, CellWorkspace& workspace,
                 std::vector<CellRecords>& records) const;
  RecordMerge merge_parts(std::span<const CellPart> parts, std::size_t side) const;
  void give_back(MergeBlock& block);

  std::vector<MergeSource> sources_;
  std::vector<MergeSide> sides_;
  std::vector<CellWorkspace> workspaces_;
  BlockMemory& memory_;
  CellWork& work_;
  Workers& workers_;
  Monitor& monitor_;
  TextCells cells_;
  std::vector<CellState> cell_;
  std::vector<MergeBlock> blocks_;        // in the order of sources, then of their runs
  std::vector<std::size_t> first_block_;  // of each source
  std::vector<std::uint32_t> needed_;     // blocks that sorted cells wait for, in order of need
  std::vector<std::size_t> streamed_;     // cells

  // With the monitor's lock:
  std::optional<FetchOrder> order_;  // of `needed_`
  std::size_t next_cell_ = 0;        // to be given to a worker
  std::size_t cells_done_ = 0;
  std::size_t streamed_done_ = 0;
  std::size_t reads_ = 0;  // fetches that have not been checked
  std::uint64_t bytes_done_ = 0;
  bool has_enough_ = false;  // no more cells are needed
  InFlight in_flight_;
};

}  // namespace xxl
