// The seam between disks and processors: raw records go in, pieces of sorted runs come out.
//
// Run formation (src/job/fixed_sort/run_formation.h) pushes blocks of records as they arrive
// from disk and pulls pieces as the output has room. How many records are held, on which processor
// they are sorted, and where a run ends is up to the sorter. cpu_chunk_sorter.h sorts on the CPU; a
// sorter on GPUs has the same interface.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/checksum.h"
#include "sort/classifier.h"
#include "sort/piece_sorter.h"
#include "sort/segment.h"

namespace xxl {

// All calls by the coordinator thread, from its mailbox's loop.
class ChunkSorter {
 public:
  // Consecutive records of a run. Pieces come in the order of their run, unless spread() says
  // otherwise.
  struct RunPiece {
    std::uint64_t run = 0;    // 0, 1, 2, ...
    std::uint64_t first = 0;  // with spread(): number of its first record in the run
    std::size_t records = 0;  // at most: `unique` may leave fewer
    std::size_t cell = 0;     // of cell_boundaries(), which all records belong to
    bool whole_cell = false;  // all of the run's records of that cell are in this piece
    // Brings the records into order; called once, on worker `thread`. What it returns is valid
    // until `done`.
    std::function<const RecordSource&(unsigned thread)> sort;
    // Instead of `sort`: the records in stable order of arrival.
    std::function<UnsortedPiece()> leave_unsorted;
    // To be called on the same worker when the records have been written elsewhere.
    std::function<void()> done;
  };

  // Waits for its own tasks under way; pieces pulled must be done.
  virtual ~ChunkSorter() = default;

  // Takes `records`, whose memory stays in use until `taken` is called (by the coordinator). False
  // when there is no room for them now: try again after pulling, or after the next message.
  virtual bool push(const Segment& records, std::function<void()> taken) = 0;
  // No more input.
  virtual void seal() = 0;
  // The next piece, if there is one now.
  virtual std::optional<RunPiece> pull() = 0;
  // Sealed, and everything has been pulled.
  virtual bool finished() const = 0;
  // True if what has arrived so far may become more than one run. (If not, and there is no more
  // input, the run that is pulled is the only one.)
  virtual bool may_be_several_runs() const { return false; }
  // Sealed, with one run only: pieces from now on may come in any order, from `streams` places of
  // the run in turns, each of them in order. False if this sorter cannot do that.
  virtual bool spread(std::size_t /*streams*/) { return false; }
  // The keys that divide the key space into cells, chosen with the first push; none if pieces never
  // are whole cells.
  virtual std::span<const SplitterKey> cell_boundaries() const { return {}; }
  // A sorter may keep what is in memory at the end, cell by cell, instead of giving it out: then it
  // has finished, and where keys are equal, these records come after those of all its runs.
  virtual std::uint64_t kept_records(std::size_t) const { return 0; }
  // Those of `cell`, in stable order of arrival. From any thread.
  virtual void append_kept(std::size_t /*cell*/, std::vector<Segment>&) const {}
  // Gives out, as one more run, the kept records of the cells for which `spills(cell)`.
  virtual void spill(const std::function<bool(std::size_t cell)>& /*spills*/) {}
  // Of everything taken so far.
  virtual const MultisetHash& input_hash() const = 0;
};

}  // namespace xxl
