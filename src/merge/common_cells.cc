#include "merge/common_cells.h"

#include <numeric>

#include "base/error.h"
#include "base/units.h"

namespace xxl {
namespace {

const CellGrid* common_grid(const std::vector<Run>& runs) {
  const auto grid_of = [](const Run& run) { return run.cells ? &run.cells->grid() : nullptr; };
  const bool common = !runs.empty() && std::all_of(runs.begin(), runs.end(), [&](const Run& run) {
    return grid_of(run) == grid_of(runs.front());
  });
  return common ? grid_of(runs.front()) : nullptr;
}

}  // namespace

CommonCells::CommonCells(const std::vector<Run>& runs, std::size_t piece_capacity,
                         const ChunkSorter* keeper)
    : runs_(runs),
      piece_capacity_(piece_capacity),
      grid_(common_grid(runs)),
      records_(grid_ == nullptr ? 1 : grid_->cells()) {
  XXL_CHECK(keeper == nullptr || grid_ != nullptr);
  for (std::size_t cell = 0; cell < records_.size(); ++cell) {
    for (const Run& run : runs) {
      records_[cell] += grid_ == nullptr ? run.records - run.skipped : run.cells->records(cell);
    }
    const std::uint64_t kept = keeper == nullptr ? 0 : keeper->kept_records(cell);
    records_[cell] += kept;
    XXL_CHECK(kept == 0 || takes_whole(cell));
  }
}

std::uint64_t CommonCells::records() const {
  return std::accumulate(records_.begin(), records_.end(), std::uint64_t{0});
}

std::size_t CommonCells::blocks_held() const {
  std::vector<std::size_t> held(records_.size());
  std::size_t held_apart = 0;  // when each run is sorted cell by cell, independently
  for (const Run& run : runs_) {
    std::size_t most = 1;
    for (std::size_t cell = 0; run.cells && cell < run.cells->grid().cells(); ++cell) {
      const auto blocks = static_cast<std::size_t>(
          ceil_div<std::uint64_t>(run.cells->records(cell), run.records_per_block) + 1);
      if (!run.cells->is_sorted(cell)) most = std::max(most, blocks);
      if (grid_ == nullptr) continue;
      held[cell] += takes_whole(cell) || !run.cells->is_sorted(cell) ? blocks : 1;
    }
    held_apart += most;
  }
  return grid_ == nullptr ? held_apart : *std::max_element(held.begin(), held.end());
}

}  // namespace xxl
