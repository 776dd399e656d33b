// The region of a merge: what it takes next of each run, cut into pieces of about equal size for
// any distribution of keys (docs/internals/merging.md, "Pieces of equal size").
//
//     run 0   taken |====|===  |...       | splitter: ends a piece in every run
//     run 1   taken |==|=======|...
//             positions       ends
//
// Splitters are chosen by regular sampling (Shi and Schaeffer, "Parallel Sorting by Regular
// Sampling", J. Parallel and Distributed Computing, 1992): a piece has at most twice as many
// records as asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "merge/fetched_run.h"
#include "record/key_layout.h"
#include "sort/segment.h"

namespace xxl {

class MergeRegion {
 public:
  struct RegionPiece {
    std::uint64_t records = 0;
    std::vector<Segment> segments;    // in the order of runs
    std::vector<std::uint64_t> ends;  // for each run, the record after its last
  };

  // The references must outlive it. It is empty, before the first record of each run.
  MergeRegion(const KeyLayout& layout, const std::vector<FetchedRun>& runs)
      : layout_(layout), runs_(runs), ends_(runs.size()) {
    for (const FetchedRun& run : runs) positions_.push_back(run.run().skipped);
  }

  // For each run, the first record that no piece has taken.
  const std::vector<std::uint64_t>& positions() const { return positions_; }
  // Records that no piece has taken.
  std::uint64_t records() const { return records_; }

  // The region, which is empty, goes on to `ends`, not below positions(). Its records are in memory
  // and stay there until their pieces are done. It is one piece,
  void extend(std::vector<std::uint64_t> ends);
  // unless it is split into pieces of about `piece_records`, no fewer than there are runs.
  void split(std::uint64_t piece_records);
  // The last piece gets these as well, behind those of the runs.
  void append(const std::vector<Segment>& segments);
  // Takes the next piece.
  RegionPiece take_piece();

 private:
  struct Sample {
    std::uint64_t prefix;
    const std::byte* record;
    std::uint32_t run;
    std::uint64_t index;  // of the record in the run
  };

  std::uint64_t end_before(const Sample& splitter, std::uint32_t run) const;

  const KeyLayout& layout_;
  const std::vector<FetchedRun>& runs_;
  std::vector<std::uint64_t> positions_;
  std::vector<std::uint64_t> ends_;
  std::vector<Sample> splitters_;  // the next one last
  std::vector<Segment> appended_;
  std::uint64_t records_ = 0;
};

}  // namespace xxl
