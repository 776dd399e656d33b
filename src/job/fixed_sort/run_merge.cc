#include "job/fixed_sort/run_merge.h"

#include <chrono>
#include <utility>

#include "base/memory_region.h"
#include "sort/make_piece_sorter.h"

namespace xxl {

RunMerge::RunMerge(const RunMergeContext& context, std::span<std::byte> region,
                   const std::vector<Run>& runs, std::size_t output_block_bytes,
                   const MakeSink& make_sink)
    : output_blocks_(region.first(context.geometry.merge_output_bytes), output_block_bytes),
      mailbox_(context.mailbox) {
  const Geometry& geometry = context.geometry;
  const std::size_t record_bytes = context.layout.record_bytes();
  Carver carver(region);
  carver.take(geometry.merge_output_bytes);
  for (unsigned thread = 0; thread < geometry.threads; ++thread) {
    sorters_.push_back(make_piece_sorter(
        context.layout, context.rules.unique, geometry.merge_piece_capacity,
        carver.take(piece_scratch_bytes(context.layout, geometry.merge_piece_capacity))));
  }
  std::vector<std::span<std::byte>> spare;
  for (unsigned thread = 0; geometry.cells_unsorted && thread < geometry.threads; ++thread) {
    spare.push_back(carver.take(geometry.merge_piece_capacity * record_bytes));
  }
  large_staging_ = carver.take(geometry.large_sorters * geometry.large_staging_bytes);
  blocks_ = std::make_unique<io::BufferPool>(
      carver.take(geometry.merge_blocks * geometry.block_bytes), geometry.block_bytes);
  sink_ = make_sink(output_blocks_);
  stage_ = std::make_unique<OutputStage>(context.layout, context.rules, output_blocks_, *sink_,
                                         context.mailbox);
  if (context.scratch != nullptr && context.source == nullptr) {
    store_ = std::make_unique<RunStore>(*context.scratch, context.io, context.packer);
  }
  context_.reset(new MergeContext{
      {context.layout, context.io, context.workers, context.mailbox,
       context.source != nullptr ? context.source : store_.get(), context.keeps_blocks},
      sorters_,
      geometry.merge_piece_records,
      geometry.merge_piece_capacity,
      std::move(spare),
      context.keeper});
  merger_ = std::make_unique<RunMerger>(*context_, runs, *blocks_, *stage_);
}

std::uint64_t RunMerge::wait(WaitTimes& waits) {
  const bool reading = merger_->waits_for_read(), writing = merger_->waits_for_write();
  const auto start = std::chrono::steady_clock::now();
  mailbox_.wait_and_run();
  if (writing) {
    waits.add_write(start);
  } else if (reading) {
    waits.add_read(start);
  }
  const std::uint64_t merged = merger_->records_merged();
  return merged - std::exchange(records_seen_, merged);
}

}  // namespace xxl
