// Merges runs of text, cell by cell. See docs/internals/general-sort.md. A CellWork consumes the
// cells: a sort writes their records to the output (cell_emitter.h), a join has runs of two inputs
// and joins each cell's records.
//
// All blocks are needed in the order of the first cell that they lie in, and fetched in the order
// that keeps all disks busy then (prediction.h). A cell whose blocks are there is sorted by a
// worker, each side for itself; several workers have one each. A cell that cannot be held is merged
// record by record, alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/in_flight.h"
#include "base/monitor.h"
#include "base/workers.h"
#include "merge/cell_contents.h"
#include "merge/cell_work.h"
#include "merge/merge_source.h"
#include "merge/prediction.h"
#include "merge/run_cursor.h"

namespace xxl {

class GeneralMerger {
 public:
  // All references must outlive the merger. `sides`: what MergeSource::side counts. `blocks`:
  // memory for blocks. Only keys in `range` are merged.
  GeneralMerger(std::vector<MergeSource> sources, std::vector<MergeSide> sides,
                std::uint64_t cell_bytes, std::vector<CellWorkspace> workspaces,
                BlockMemory& blocks, CellWork& work, Workers& workers, Monitor& monitor,
                const KeyRange& range = {});

  // Merges everything in the range. Throws the first failure. `on_progress` is called with bytes
  // done.
  void run(const std::function<void(std::uint64_t)>& on_progress);

 private:
  enum class CellKind : std::uint8_t { sorted, streamed, outside };  // the range
  struct CellState {
    CellKind kind = CellKind::sorted;
    std::uint32_t missing = 0;  // blocks
  };

  std::size_t choose_streamed();
  std::uint32_t first_sorted_cell(const MergeBlock& block) const;
  void plan_fetches(std::size_t held);
  std::optional<NeededBlock> next_needed(std::size_t& at) const;
  void advance();
  std::vector<std::uint32_t> take_fetches();
  void fetch(std::size_t block);
  void arrived(std::size_t block);
  void cell_done(std::size_t cell);

  void merge_cell(std::size_t cell, unsigned thread);
  void give_back(MergeBlock& block);

  CellContents contents_;
  std::vector<CellWorkspace> workspaces_;
  BlockMemory& memory_;
  CellWork& work_;  // whose cell 0 is first_cell_
  Workers& workers_;
  Monitor& monitor_;
  const std::size_t first_cell_;
  const std::size_t end_cell_;
  std::vector<CellState> cell_;
  std::vector<std::uint32_t> needed_;  // blocks that sorted cells wait for, in order of need
  std::vector<std::size_t> streamed_;  // cells

  // With the monitor's lock:
  std::optional<FetchOrder> order_;       // of `needed_`
  std::size_t next_cell_ = first_cell_;   // to be given to a worker
  std::size_t cells_done_ = first_cell_;  // so many, with those below the range
  std::size_t streamed_done_ = 0;
  std::size_t reads_ = 0;  // fetches that have not been checked
  std::uint64_t bytes_done_ = 0;
  bool has_enough_ = false;  // no more cells are needed
  InFlight in_flight_;
};

}  // namespace xxl
