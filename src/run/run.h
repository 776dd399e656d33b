// A run on disk, and what is remembered of its blocks.
//
// A run is a sequence of blocks of whole records; every block but the last holds the same number of
// them. Its records are sorted, or in order of cells and in part sorted within. Scratch runs have
// their blocks spread over the scratch disks and remember a checksum for each; a file that is
// sorted already (sort -m, or an early output) is itself a run of consecutive blocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "io/file.h"
#include "record/key_layout.h"
#include "run/cell_grid.h"
#include "run/run_store.h"
#include "run/trigger.h"

namespace xxl {

struct RunBlock : StoredBlock {  // stored: of scratch runs only
  Trigger trigger;
};

// Where the cells of a run start, and which of them are sorted.
class RunCells {
 public:
  // `grid` must outlive the run.
  explicit RunCells(const CellGrid& grid) : grid_(&grid), sorted_(grid.cells(), 1) {
    start_.reserve(grid.cells() + 1);
  }

  const CellGrid& grid() const { return *grid_; }
  // Record that `cell` (up to grid().cells(): the end of the last one) starts with.
  std::uint64_t start(std::size_t cell) const { return start_[cell]; }
  std::uint64_t records(std::size_t cell) const { return start_[cell + 1] - start_[cell]; }
  bool is_sorted(std::size_t cell) const { return sorted_[cell] != 0; }

  // Records from `record` on belong to `cell`; cells come in order, a cell may come in parts.
  void enter(std::size_t cell, std::uint64_t record, bool sorted) {
    while (start_.size() <= cell) start_.push_back(record);
    XXL_CHECK(start_.size() == cell + 1 && (sorted || start_.back() == record));
    if (!sorted) sorted_[cell] = 0;  // never writes where a worker may be reading
  }
  void finish(std::uint64_t records) { start_.resize(grid_->cells() + 1, records); }

  static std::size_t memory_bytes(std::size_t cells) {
    return cells * (sizeof(std::uint64_t) + 1) + sizeof(std::uint64_t);
  }

 private:
  const CellGrid* grid_;
  std::vector<std::uint64_t> start_;
  std::vector<std::uint8_t> sorted_;  // bytes: workers read some while others are written
};

struct Run : StoredRun {
  std::uint64_t records = 0;  // up to its end
  std::uint64_t skipped = 0;  // of the first block of a slice: records before the slice
  std::size_t records_per_block = 0;
  std::deque<RunBlock> blocks;    // grows without copying
  std::optional<RunCells> cells;  // none: all of the run is sorted
  // The file of a run that was not written to scratch; its first record is at `file_offset`.
  std::shared_ptr<io::File> file;
  std::uint64_t file_offset = 0;
  bool has_sums = false;  // the file is scratch: the checksum of a block is that of FileRunSums

  bool in_scratch() const { return file == nullptr; }
  std::size_t records_in_block(std::size_t index) const {
    const std::uint64_t first = static_cast<std::uint64_t>(index) * records_per_block;
    return static_cast<std::size_t>(std::min<std::uint64_t>(records_per_block, records - first));
  }
};

// The trigger of a block of `run` that starts with `record`.
inline Trigger block_trigger(const Run& run, const KeyLayout& layout, const std::byte* record) {
  const Trigger key = trigger_of(layout, record);
  if (!run.cells) return key;
  const std::size_t cell = run.cells->grid().cell_of(key);
  return run.cells->is_sorted(cell) ? key : run.cells->grid().lower_bound(cell);
}

}  // namespace xxl
