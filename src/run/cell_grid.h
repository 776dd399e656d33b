// Cells: some thousand ranges of keys, the same for all runs of a sort.
//
// A merge sorts its pieces whatever order their records come in (sort/piece_sorter.h). A run that
// is to be merged need not be fully sorted, then: it is enough that it is in order of cells, if the
// merge takes whole cells. Run formation, which distributes records over cells in any case, leaves
// them as they are, and every record is sorted once instead of twice. Where a cell became too large
// to be taken whole (the input changed on the way), both sides fall back to full order: run
// formation sorts the cell's parts, and the merge sorts what was left unsorted as it arrives
// (merge/usable_records.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "run/trigger.h"

namespace xxl {

class CellGrid {
 public:
  // `boundaries` in strictly ascending order: cell i holds the keys with boundaries[i - 1] <= key <
  // boundaries[i]. REQUIRES: triggers_tell_cells().
  explicit CellGrid(std::vector<Trigger> boundaries) : boundaries_(std::move(boundaries)) {}

  std::size_t cells() const { return boundaries_.size() + 1; }
  // The smallest key that can be in `cell`.
  Trigger lower_bound(std::size_t cell) const {
    return cell == 0 ? Trigger{} : boundaries_[cell - 1];
  }
  std::size_t cell_of(const Trigger& key) const {
    return static_cast<std::size_t>(std::upper_bound(boundaries_.begin(), boundaries_.end(), key) -
                                    boundaries_.begin());
  }

 private:
  std::vector<Trigger> boundaries_;
};

}  // namespace xxl
