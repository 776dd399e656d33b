// What lies in the cells of a merge of text: which blocks of the runs in scratch, which records of
// those in memory; and the records of a cell, sorted or one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "merge/cell_work.h"
#include "merge/general_cells.h"
#include "merge/merge_source.h"
#include "merge/record_merge.h"
#include "merge/run_cursor.h"
#include "merge/run_cut.h"
#include "record/key_extractor.h"
#include "run/general_run.h"
#include "run/general_scratch.h"
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
  GeneralScratch* scratch;  // the scratch of its runs; null if none is there
  bool releases = false;    // the places of blocks are freed: they will not be read again
};

// A block that is in memory, or on its way there.
struct LoadedBlock {
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
  std::uint32_t users = 0;       // cells that still have to read it from memory
  std::uint32_t cells_left = 0;  // that are not done
  std::unique_ptr<LoadedBlock> loaded;
};

// A cell; or, where all runs are in memory, a part of one.
struct CellSlice {
  std::size_t cell;
  // The items of each run that it begins and ends with; empty: it begins or ends with the cell.
  std::span<const std::size_t> from{};
  std::span<const std::size_t> to{};
};

// Needs no lock of its own: of a cell, only what lies in it is touched, and blocks are loaded and
// given up by the owner.
class CellContents {
 public:
  // `sides`: what MergeSource::side counts; they must outlive this, as must the runs. `range` as
  // GeneralCells.
  CellContents(std::vector<MergeSource> sources, std::vector<MergeSide> sides,
               std::uint64_t cell_bytes, const KeyRange& range = {});

  std::size_t cells() const { return cells_.count(); }
  // Those in the range.
  std::size_t first_cell() const { return cells_.first(); }
  std::size_t end_cell() const { return cells_.end(); }
  const std::vector<MergeSide>& sides() const { return sides_; }

  // All, in the order of sources, then of their runs.
  std::span<MergeBlock> blocks() { return blocks_; }
  std::span<const MergeBlock> blocks() const { return blocks_; }
  // Number of the first one of a source.
  std::size_t first_block(std::size_t source) const { return first_block_[source]; }
  // Those of each source that reach `cell`.
  template <class F>
  void for_blocks_of(std::size_t cell, F&& f) {
    for (std::size_t source = 0; source < sources_.size(); ++source) {
      for (MergeBlock& block : blocks_of(source, cell)) f(block);
    }
  }
  GeneralRun& run_of(const MergeBlock& block) const { return *sources_[block.source].run; }
  GeneralScratch& scratch_of(const MergeBlock& block) const {
    return *side_of(sources_[block.source]).scratch;
  }
  // It will not be read again.
  void release(const MergeBlock& block) const {
    const MergeSide& side = side_of(sources_[block.source]);
    if (side.releases) side.scratch->release(run_of(block), block.index);
  }
  // Of its records; of the buffer that it is read to.
  std::size_t bytes_of(const MergeBlock& block) const {
    return run_of(block).blocks[block.index].bytes;
  }
  std::size_t buffer_bytes(const MergeBlock& block) const {
    return BlockSource::buffer_bytes(run_of(block).blocks[block.index]);
  }
  // Finds out where cells begin in a block that has been read.
  void find_cuts(MergeBlock& block) const;

  // Gives the records of a cell whose blocks have all been read to `work`, as cell `number`: to be
  // sorted in `workspace`, or one by one if there is no room for their items. Returns what it does.
  bool take_cell(const CellSlice& cell, const CellWorkspace& workspace, std::size_t number,
                 CellWork& work);
  // Each side merged record by record.
  std::vector<RecordMerge> merge_held(const CellSlice& cell, bool marks_same);
  // The same of a cell that cannot be held: blocks are read as they are needed, to `memory`.
  std::vector<RecordMerge> merge_streamed(std::size_t cell, bool marks_same, BlockMemory& memory);

  // --- where all runs, of one side, are in memory ---

  // The first item of each run that is in `cell` or behind it; of cells() the end.
  std::vector<std::size_t> first_items(std::size_t cell) const;
  // Calls visit(cell, records, bytes) with what each of the cells from `first` to `last` holds.
  void measure(std::size_t first, std::size_t last,
               const std::function<void(std::size_t, std::uint64_t, std::uint64_t)>& visit) const;
  // Cuts `cell` from item `from` of each run on, or from its beginning, as cut_runs().
  RunCut cut_cell(const CellSlice& cell, std::ptrdiff_t extra_bytes,
                  const IsBehindCut& is_behind) const;

 private:
  // Records of one run in one cell.
  struct CellPart {
    std::uint32_t source;
    const char* begin = nullptr;  // coded records of a block, or:
    const char* end = nullptr;
    std::size_t first_item = 0;  // of a resident run
    std::size_t last_item = 0;
  };
  // What a cell's records are.
  struct Load {
    std::size_t records = 0;
    std::uint64_t bytes = 0;  // of the records
    bool fits = true;
  };
  class BlockCursor;

  static GeneralCells plan_cells(const std::vector<MergeSource>& sources,
                                 const std::vector<MergeSide>& sides, std::uint64_t cell_bytes,
                                 const KeyRange& range);
  void list_blocks();
  const MergeSide& side_of(const MergeSource& source) const { return sides_[source.side]; }
  std::span<MergeBlock> blocks_of(std::size_t source);
  std::span<MergeBlock> blocks_of(std::size_t source, std::size_t cell);
  std::size_t cut(const MergeBlock& block, const std::byte* buffer, std::string_view boundary,
                  std::size_t from, std::vector<std::uint32_t>& starts) const;
  std::size_t resident_cut(const MergeSource& source, std::size_t cell, std::size_t from = 0,
                           std::size_t step = ~std::size_t{0}) const;
  std::unique_ptr<RecordCursor> cursor_of(const CellPart& part) const;
  CellPart resident_part(std::size_t source, const CellSlice& slice) const;
  std::vector<CellPart> parts_of(const CellSlice& slice);
  std::span<const CellPart> parts_of_side(const std::vector<CellPart>& parts,
                                          std::size_t side) const;
  Load load_items(std::span<const CellPart> parts, std::span<StringItem> items) const;
  void sort_side(const CellSlice& cell, std::size_t side, std::span<const CellPart> parts,
                 std::span<StringItem> items, const CellWorkspace& workspace) const;

  std::vector<MergeSource> sources_;
  std::vector<MergeSide> sides_;
  GeneralCells cells_;
  std::vector<MergeBlock> blocks_;
  std::vector<std::size_t> first_block_;  // of each source
};

}  // namespace xxl
