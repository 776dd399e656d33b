// How far a merge may cut into what it has in memory.
//
// A record is *usable* when it and all before it in its run are in memory, and in order as far as a
// cut needs it: an unsorted cell that will be cut apart is first sorted where it lies
// (common_cells.h). What can be merged is all usable records below the *bound*, the smallest key
// that may follow the usable records of any run:
//
//     run 0   ===|=====|..            = usable     . not there
//     run 1   ======|======|..        bound: the smallest of the triggers of blocks not there
//     run 2   =====|===|..
//                  ^bound
//
// The bound uses real keys, not their order of prediction: for a run with a block in memory it is
// the larger of its next trigger and its last key in memory. So a trigger may be cut to a few
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/in_flight.h"
#include "merge/common_cells.h"
#include "merge/fetched_run.h"
#include "merge/merge_context.h"
#include "run/trigger.h"

namespace xxl {

class UsableRecords {
 public:
  // Lower bound of the keys in a run that are not usable: a trigger, or a record in memory.
  struct Bound {
    Trigger trigger;
    const std::byte* record = nullptr;
    std::uint32_t run = 0;
    bool none = true;  // everything is usable

    std::uint64_t word(const KeyLayout& layout, std::size_t index) const;
    // Whether it is below `other`, or may be, for all that a trigger says.
    bool below(const Bound& other, const KeyLayout& layout) const;
    // Whether `x`, a record of `x_run`, certainly comes before all records that it bounds.
    bool is_above(const std::byte* x, std::uint32_t x_run, const KeyLayout& layout) const;
  };

  // All references must outlive it.
  UsableRecords(const MergeContext& context, const std::vector<FetchedRun>& runs,
                const CommonCells& cells)
      : context_(context), runs_(runs), cells_(cells), states_(runs.size()) {}

  // To be called when the records in memory of `run` have changed.
  void update(std::uint32_t run);
  // Parts of cells that are being sorted.
  std::size_t sorting() const { return sorting_; }
  // The smallest over all runs, of equal ones that of the run with the lowest number.
  Bound bound() const;
  // For each run, where the records of `cell` end that may be merged; those before begins[run] have
  // been.
  std::vector<std::uint64_t> ends_below(const Bound& bound, std::size_t cell,
                                        const std::vector<std::uint64_t>& begins) const;

 private:
  struct RunState {
    std::uint64_t usable = 0;  // records before this one
    std::size_t cell = 0;      // the run's cell that `usable` lies in
    bool sorting = false;      // that cell is being sorted
  };

  void sort_cell(std::uint32_t run);
  Bound bound_of(std::uint32_t run) const;

  const MergeContext& context_;
  const std::vector<FetchedRun>& runs_;
  const CommonCells& cells_;
  std::vector<RunState> states_;
  std::size_t sorting_ = 0;
  InFlight in_flight_;
};

}  // namespace xxl
