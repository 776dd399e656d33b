#include "job/fixed_sort/input_sorting.h"

#include <utility>

#include "base/memory_region.h"
#include "base/units.h"
#include "sort/cpu_chunk_sorter.h"
#include "sort/make_piece_sorter.h"

namespace xxl {

ChunkMemory::ChunkMemory(const Geometry& geometry, const KeyLayout& layout)
    : output_bytes(geometry.output_blocks * geometry.block_bytes),
      read_bytes(round_up(
          geometry.read_blocks *
              io::SequentialReader::buffer_bytes(geometry.read_block_bytes, layout.record_bytes()),
          kSectorBytes)),
      staging_bytes(geometry.slices * geometry.slice_bytes) {}

InputSorting::InputSorting(const Context& context, std::span<std::byte> region,
                           std::unique_ptr<ChunkSorter> accelerated, OpenRun open_run,
                           RunFormation::CloseRun close_run)
    : sorter_(std::move(accelerated)) {
  const Geometry& geometry = context.geometry;
  const KeyLayout& layout = context.layout;
  const ChunkMemory memory(geometry, layout);
  Carver carver(region);
  output_blocks_ =
      std::make_unique<io::BufferPool>(carver.take(memory.output_bytes), geometry.block_bytes);
  const auto read_memory = carver.take(memory.read_bytes);
  if (sorter_ == nullptr) {
    for (unsigned thread = 0; thread < geometry.threads; ++thread) {
      sorters_.push_back(
          make_piece_sorter(layout, context.unique, geometry.piece_capacity,
                            carver.take(piece_scratch_bytes(layout, geometry.piece_capacity))));
    }
    sorter_ = std::make_unique<CpuChunkSorter>(
        layout, geometry.chunk, carver.take(geometry.chunk.memory_bytes), context.workers,
        context.mailbox, sorters_, context.seed);
  }
  reader_ = std::make_unique<io::SequentialReader>(context.inputs.files, layout.record_bytes(),
                                                   geometry.read_block_bytes, read_memory,
                                                   context.io, context.mailbox);
  if (context.inputs.start > 0) reader_->start_at(context.inputs.start);
  formation_ = std::make_unique<RunFormation>(
      layout, *reader_, *sorter_, context.workers, *output_blocks_, context.mailbox,
      [this, open = std::move(open_run)](bool all_in_memory, bool looks_sorted) {
        return open(*sorter_, *output_blocks_, all_in_memory, looks_sorted);
      },
      std::move(close_run), context.progress);
}

}  // namespace xxl
