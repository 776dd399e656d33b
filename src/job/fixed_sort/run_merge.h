// One merge of runs, with its sorters, buffers, and output stage.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/mailbox.h"
#include "base/workers.h"
#include "io/buffer_pool.h"
#include "io/io_queue.h"
#include "io/scratch_store.h"
#include "job/fixed_sort/plan.h"
#include "job/phase_meter.h"
#include "merge/run_merger.h"
#include "record/key_layout.h"
#include "run/block_sink.h"
#include "run/output_stage.h"
#include "run/run.h"
#include "sort/piece_sorter.h"

namespace xxl {

// Where a merge takes place. References must outlive it.
struct RunMergeContext {
  const KeyLayout& layout;
  const Geometry& geometry;
  OutputRules rules;
  io::IoService& io;
  Workers& workers;  // of geometry.threads threads
  Mailbox& mailbox;
  io::ScratchStore* scratch;            // null if no run is in scratch
  BlockPacker packer;                   // of blocks in scratch
  const ChunkSorter* keeper = nullptr;  // MergeContext
  bool keeps_blocks = false;            // FetchContext
  BlockSource* source = nullptr;        // has the blocks of runs, in place of `scratch`
};

// Coordinator thread only.
class RunMerge {
 public:
  using MakeSink = std::function<std::unique_ptr<BlockSink>(io::BufferPool& buffers)>;

  // `region`: geometry.merge_region_bytes. `output_block_bytes`: of the buffers that `make_sink` is
  // given. Region and runs must outlive it.
  RunMerge(const RunMergeContext& context, std::span<std::byte> region,
           const std::vector<Run>& runs, std::size_t output_block_bytes, const MakeSink& make_sink);

  RunMerger& merger() const { return *merger_; }
  // In a loop of merger().pump(): waits for what happens next, adds the wait to `waits`, and
  // returns how many records have been merged since the last call.
  std::uint64_t wait(WaitTimes& waits);
  OutputStage& stage() const { return *stage_; }
  BlockSink& sink() const { return *sink_; }
  // Memory for large pieces (geometry.large_sorters of them).
  std::span<std::byte> large_staging() const { return large_staging_; }

 private:
  io::BufferPool output_blocks_;
  std::vector<std::unique_ptr<PieceSorter>> sorters_;
  std::span<std::byte> large_staging_;
  Mailbox& mailbox_;
  std::uint64_t records_seen_ = 0;
  std::unique_ptr<io::BufferPool> blocks_;
  std::unique_ptr<BlockSink> sink_;
  std::unique_ptr<RunStore> store_;  // of `scratch`
  std::unique_ptr<OutputStage> stage_;
  std::unique_ptr<MergeContext> context_;
  std::unique_ptr<RunMerger> merger_;  // last: it waits for what is under way
};

}  // namespace xxl
