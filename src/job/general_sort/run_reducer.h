// Merges runs of text to fewer, longer ones, until these can be merged at once.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "base/checksum.h"
#include "base/monitor.h"
#include "base/workers.h"
#include "job/general_sort/general_memory.h"
#include "job/general_sort/general_sort_options.h"
#include "job/general_sort/lazy_scratch.h"
#include "merge/general_merger.h"
#include "merge/record_merge.h"
#include "merge/run_cursor.h"
#include "record/key_extractor.h"
#include "run/general_run.h"

namespace xxl {

class RunReducer {
 public:
  // The references must outlive it.
  RunReducer(const GeneralSortOptions& options, const KeyExtractor& keys, GeneralMemory& memory,
             LazyScratch& scratch, Workers& workers, Monitor& monitor)
      : options_(options),
        keys_(keys),
        memory_(memory),
        scratch_(scratch),
        workers_(workers),
        monitor_(monitor) {}

  // Merges groups of neighbouring runs, a group a worker and in as many passes as it takes, until
  // `blocks` has room for two blocks of each run, and there are no more runs than options allow at
  // once. Runs in memory stay as they are; runs that are merged are emptied. Throws BlockTooLong if
  // two blocks of two runs are too much. `most_bytes`: memory for blocks that runs may take in
  // the end, if not most of it. Tables that are too large to be in memory twice go to scratch.
  std::vector<MergeSource> reduce(std::vector<MergeSource> sources, BlockMemory& blocks,
                                  std::size_t most_bytes);
  std::vector<MergeSource> reduce(std::vector<MergeSource> sources, BlockMemory& blocks) {
    return reduce(std::move(sources), blocks, most_for_runs(blocks));
  }

  // The same in one pass, to as few runs as that gives, whose tables are in scratch.
  std::vector<MergeSource> compact(const std::vector<MergeSource>& sources, BlockMemory& blocks);

  // What runs may take of the memory for blocks, two blocks each.
  static std::size_t most_for_runs(BlockMemory& blocks) {
    return blocks.extents().total_bytes() / 8 * 7;
  }
  // Two blocks of each run in scratch.
  static std::size_t bytes_for_runs(const std::vector<MergeSource>& sources);

  // Writes the records of `cursors` as a run in scratch, which lasts as long as the reducer.
  // `on_disorder` as RecordMerge. From any thread.
  enum class Table : std::uint8_t { in_memory, in_scratch };
  GeneralRun& merge_to_run(std::vector<std::unique_ptr<RecordCursor>> cursors, Table table,
                           RecordMerge::OnDisorder on_disorder = {});

  // Passes over the data.
  unsigned passes() const { return passes_; }
  // Records left out by --unique.
  const MultisetHash& removed() const { return removed_; }

 private:
  struct MergeGroup {
    std::vector<MergeSource> sources;
    std::size_t bytes = 0;         // of blocks that merging it may need
    GeneralRun* merged = nullptr;  // the result; null for a single source
  };

  bool tables_fit(const std::vector<MergeSource>& sources) const;
  std::vector<MergeGroup> groups_of(const std::vector<MergeSource>& sources, std::size_t degree,
                                    std::size_t most_bytes) const;
  std::vector<MergeSource> merge_groups(std::vector<MergeGroup>& groups, std::size_t most_bytes,
                                        BlockMemory& blocks, Table table);
  void merge_group(MergeGroup& group, bool reads_ahead, BlockMemory& blocks, Table table);

  const GeneralSortOptions& options_;
  const KeyExtractor& keys_;
  GeneralMemory& memory_;
  LazyScratch& scratch_;
  Workers& workers_;
  Monitor& monitor_;
  unsigned passes_ = 0;
  // With the monitor's lock:
  std::deque<GeneralRun> runs_;
  MultisetHash removed_;
};

}  // namespace xxl
