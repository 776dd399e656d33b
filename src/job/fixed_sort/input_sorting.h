// One input being sorted in chunks, with its buffers, sorters and reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/mailbox.h"
#include "base/workers.h"
#include "io/buffer_pool.h"
#include "io/io_queue.h"
#include "io/sequential_reader.h"
#include "job/fixed_sort/plan.h"
#include "job/fixed_sort/run_formation.h"
#include "job/inputs.h"
#include "record/key_layout.h"
#include "sort/chunk_sorter.h"
#include "sort/piece_sorter.h"

namespace xxl {

// Memory of a sort in chunks: output blocks | read buffers | sorters and table (with an
// accelerator: staging).
struct ChunkMemory {
  std::size_t output_bytes = 0;
  std::size_t read_bytes = 0;
  std::size_t staging_bytes = 0;

  ChunkMemory(const Geometry& geometry, const KeyLayout& layout);
  // With an accelerator: the memory for transfers, read buffers first.
  std::span<std::byte> pinned(std::span<std::byte> region) const {
    return region.subspan(output_bytes, read_bytes + staging_bytes);
  }
};

// Coordinator thread only.
class InputSorting {
 public:
  // Where it takes place. References must outlive it.
  struct Context {
    const KeyLayout& layout;
    const Geometry& geometry;
    bool unique;
    Inputs& inputs;
    io::IoService& io;
    Workers& workers;  // of geometry.threads threads
    Mailbox& mailbox;
    std::uint64_t seed;  // of samples
    Progress* progress;  // may be null
  };
  // As RunFormation::OpenRun, with the buffers that the sink gives back.
  using OpenRun = std::function<RunFormation::OpenedRun(
      const ChunkSorter& sorter, io::BufferPool& buffers, bool all_in_memory, bool looks_sorted)>;

  // `region`: geometry.region_bytes; must outlive it. `accelerated`: the sorter, of staging in the
  // region; null: the CPU sorts.
  InputSorting(const Context& context, std::span<std::byte> region,
               std::unique_ptr<ChunkSorter> accelerated, OpenRun open_run,
               RunFormation::CloseRun close_run);

  RunFormation& formation() const { return *formation_; }
  const ChunkSorter& sorter() const { return *sorter_; }
  // As ChunkSorter: a further run for formation().run().
  void spill(const std::function<bool(std::size_t cell)>& spills) { sorter_->spill(spills); }

 private:
  std::unique_ptr<io::BufferPool> output_blocks_;
  std::vector<std::unique_ptr<PieceSorter>> sorters_;
  std::unique_ptr<ChunkSorter> sorter_;
  std::unique_ptr<io::SequentialReader> reader_;
  std::unique_ptr<RunFormation> formation_;  // last: it waits for what is under way
};

}  // namespace xxl
