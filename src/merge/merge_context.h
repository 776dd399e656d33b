// The surroundings of a merge; everything must outlive it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/mailbox.h"
#include "base/workers.h"
#include "io/io_queue.h"
#include "record/key_layout.h"
#include "run/run_store.h"
#include "sort/chunk_sorter.h"
#include "sort/piece_sorter.h"

namespace xxl {

// For reading blocks.
struct FetchContext {
  const KeyLayout& layout;
  io::IoService& io;
  Workers& workers;
  Mailbox& mailbox;
  BlockSource* store;         // null if no run is in scratch
  bool keeps_blocks = false;  // runs stay in scratch when they have been merged
};

struct MergeContext : FetchContext {
  std::vector<std::unique_ptr<PieceSorter>>& sorters;  // one a worker thread
  std::size_t piece_records;                           // target size of a piece
  std::size_t piece_capacity;                          // of the sorters, at least twice that
  // For runs with cells: memory for piece_capacity records, one a worker thread.
  std::vector<std::span<std::byte>> spare = {};
  // Its kept records are merged with the runs, all of which have its cells; no cell with kept
  // records has more than piece_capacity. Null: nothing is kept.
  const ChunkSorter* keeper = nullptr;
};

}  // namespace xxl
