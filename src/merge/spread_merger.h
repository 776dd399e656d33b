// Merges runs of text that are all in memory to several parts of the output at a time
// (docs/internals/parts.md).
//
// What a cell will fill is known before it is sorted: items have the sizes of their records. So
// parts are cut beforehand, through cells (run_cut.h), and the pieces between boundaries of cells
// and parts are sorted and written in any order: from several places of the output in turns.
//
//     cells    |a      |b      |c      |d      |e      |
//     parts    |0           |1          |2             |
//     pieces   |0      |1   |2 |3     |4|5     |6      |     begun in the order 0 4 1 5 2 6 3
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/in_flight.h"
#include "base/monitor.h"
#include "base/workers.h"
#include "merge/cell_contents.h"
#include "merge/cell_work.h"
#include "merge/merge_source.h"
#include "run/general_output.h"
#include "run/output_parts.h"

namespace xxl {

class SpreadMerger {
 public:
  // All references must outlive the merger. `runs`: of one side, in memory. `extra_bytes`: what a
  // record takes more in the output.
  SpreadMerger(std::vector<MergeSource> runs, const MergeSide& side, std::uint64_t cell_bytes,
               std::ptrdiff_t extra_bytes, std::vector<CellWorkspace> workspaces, Workers& workers,
               Monitor& monitor);

  // Lays out a place in `output` for each piece. `parts` are its parts, not by a key. Throws the
  // first failure.
  void lay_out(OutputParts& parts, GeneralOutput& output);
  // Those places, by the numbers of the pieces.
  std::span<const GeneralOutput::OutputStretch> places() const { return places_; }
  // Gives all pieces to `work`, as cells of these numbers, from `streams` places in turns. Throws
  // the first failure. `on_progress` is called with bytes done.
  void run(CellWork& work, std::size_t streams,
           const std::function<void(std::uint64_t)>& on_progress);

 private:
  using Cut = std::vector<std::size_t>;  // items of each run
  // A cell, or what lies in it between two cuts; by their numbers, if there are any.
  struct CellPiece {
    std::size_t cell;
    std::size_t from = kNoCut;
    std::size_t to = kNoCut;
  };
  static constexpr std::size_t kNoCut = ~std::size_t{0};

  CellSlice slice(const CellPiece& piece) const;
  std::vector<std::uint64_t> measure();
  std::vector<std::size_t> spread(std::size_t streams) const;
  // Does tasks 0 to `tasks` by all workers; each returns what on_progress() gets of it.
  void run_all(std::size_t tasks, const std::function<std::uint64_t(std::size_t, unsigned)>& task,
               const std::function<void(std::uint64_t)>& on_progress);

  CellContents contents_;
  const std::ptrdiff_t extra_bytes_;
  const std::vector<CellWorkspace> workspaces_;
  Workers& workers_;
  Monitor& monitor_;
  std::vector<Cut> cuts_;
  std::vector<CellPiece> pieces_;
  std::vector<GeneralOutput::OutputStretch> places_;
};

}  // namespace xxl
