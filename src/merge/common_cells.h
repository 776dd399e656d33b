// The cells that all runs of a merge have in common (run/cell_grid.h), and their sizes.
//
// A cell that is small enough in all runs together is taken whole, when all of it has arrived. A
// larger one is cut like runs that know no cells, which needs order: where a run holds it unsorted,
// that part is first sorted in memory (usable_records.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "run/cell_grid.h"
#include "run/run.h"
#include "sort/chunk_sorter.h"

namespace xxl {

inline bool has_cells(const std::vector<Run>& runs) {
  return std::any_of(runs.begin(), runs.end(),
                     [](const Run& run) { return run.cells.has_value(); });
}

class CommonCells {
 public:
  // `runs` must outlive it. `piece_capacity`: records that a piece sorter takes. `keeper`, unless
  // null, keeps records of these cells, which are counted too; a cell with such records is whole.
  CommonCells(const std::vector<Run>& runs, std::size_t piece_capacity,
              const ChunkSorter* keeper = nullptr);

  // Null: the runs have none in common, which makes one cell.
  const CellGrid* grid() const { return grid_; }
  std::uint64_t records(std::size_t cell) const { return records_[cell]; }
  std::uint64_t records() const;
  bool takes_whole(std::size_t cell) const {
    return grid_ != nullptr && records_[cell] <= piece_capacity_;
  }
  // The record of `run` after the last one of `cell`.
  std::uint64_t end(const Run& run, std::size_t cell) const {
    return grid_ == nullptr ? run.records : run.cells->start(cell + 1);
  }
  // Most buffers that records not yet mergeable may occupy.
  std::size_t blocks_held() const;

 private:
  const std::vector<Run>& runs_;
  std::size_t piece_capacity_;
  const CellGrid* grid_;
  std::vector<std::uint64_t> records_;  // of each cell
};

}  // namespace xxl
