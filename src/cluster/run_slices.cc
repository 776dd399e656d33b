#include "cluster/run_slices.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "cluster/message.h"
#include "merge/general_cells.h"

namespace xxl {
namespace {

// Blocks [first, last) of `run`. Their places are where they lie, if the rank that merges them can
// read them there; otherwise their numbers in the run, by which they are fetched.
template <class R>
void put_blocks(MessageWriter& writer, const R& run, std::size_t first, std::size_t last,
                bool with_places) {
  using Block = typename decltype(run.blocks)::value_type;
  std::vector<io::ScratchPlace> places;  // of blocks that have several
  std::vector<Block> blocks;
  for (std::size_t number = first; number < last; ++number) {
    Block& block = blocks.emplace_back(run.blocks[number]);
    if (!with_places) {
      block.places = 1;
      block.place = {.slot = static_cast<std::uint32_t>(number)};
    } else if (block.places > 1) {
      const auto from = run.places_of(block);
      block.place.slot = static_cast<std::uint32_t>(places.size());
      places.insert(places.end(), from.begin(), from.end());
    }
  }
  writer.put_all(blocks);
  writer.put_all(places);
}

template <class R>
void get_blocks(MessageReader& reader, R& run) {
  reader.get_all(run.blocks);
  reader.get_all(run.places);
}

// `put`(writer, run, rank) writes what `rank` merges of a run, behind its origin, or nothing, and
// `get`(reader, run) reads it.
template <class R, class Put, class Get>
RunSlices<R> exchange(std::size_t runs, Peers& peers, Put put, Get get) {
  std::vector<Message> messages;
  for (unsigned rank = 0; rank < peers.ranks(); ++rank) {
    MessageWriter writer;
    for (std::uint32_t run = 0; run < runs; ++run) put(writer, run, rank);
    messages.push_back(writer.take());
  }
  RunSlices<R> slices;
  for (const Message& message : peers.exchange(std::move(messages))) {
    for (MessageReader reader(message); !reader.at_end();) {
      slices.origins.push_back(reader.get<SliceOrigin>());
      get(reader, slices.runs.emplace_back());
    }
  }
  return slices;
}

}  // namespace

RunSlices<Run> exchange_slices(const std::vector<Run>& runs, const RunCuts& cuts,
                               const LocalScratch& scratch, Peers& peers) {
  struct Head {
    std::uint64_t records, skipped;
    std::size_t records_per_block;
  };
  const auto put = [&](MessageWriter& writer, std::uint32_t run, unsigned rank) {
    const std::uint64_t begin = cuts[rank][run], end = cuts[rank + 1][run];
    if (begin == end) return;
    const std::size_t per_block = runs[run].records_per_block;
    const std::uint64_t first = begin / per_block, before = first * per_block;
    writer.put(SliceOrigin{peers.rank(), run});
    writer.put(Head{end - before, begin - before, per_block});
    put_blocks(writer, runs[run], first, ceil_div<std::uint64_t>(end, per_block),
               scratch.is_open_to(rank));
  };
  return exchange<Run>(runs.size(), peers, put, [](MessageReader& reader, Run& run) {
    const auto head = reader.get<Head>();
    run.records = head.records;
    run.skipped = head.skipped;
    run.records_per_block = head.records_per_block;
    get_blocks(reader, run);
  });
}

RunSlices<GeneralRun> exchange_slices(std::span<const GeneralRun* const> runs,
                                      std::uint32_t first_run, const std::vector<std::string>& cuts,
                                      const LocalScratch& scratch, Peers& peers) {
  const GeneralCells ranges(cuts);
  std::vector<std::vector<CellRange>> of_blocks;
  for (const GeneralRun* const run : runs) of_blocks.push_back(cell_ranges(ranges, *run));
  const auto put = [&](MessageWriter& writer, std::uint32_t number, unsigned rank) {
    const GeneralRun& run = *runs[number];
    const auto begin = of_blocks[number].begin(), end = of_blocks[number].end();
    // Both ends of the blocks' ranges ascend.
    const std::size_t first =
        std::partition_point(begin, end, [&](CellRange range) { return range.last < rank; }) -
        begin;
    const std::size_t last =
        std::partition_point(begin, end, [&](CellRange range) { return range.first <= rank; }) -
        begin;
    if (rank >= ranges.count() || first == last) return;
    std::uint64_t bytes = 0;
    for (std::size_t block = first; block < last; ++block) bytes += run.blocks[block].bytes;
    const double part = static_cast<double>(bytes) / static_cast<double>(run.bytes);
    writer.put(SliceOrigin{peers.rank(), first_run + number});
    writer.put(static_cast<std::uint64_t>(part * static_cast<double>(run.records)));  // about
    put_blocks(writer, run, first, last, scratch.is_open_to(rank));
    for (std::size_t block = first; block < last; ++block) writer.put_text(run.trigger(block));
    // (The trigger of the next block is no smaller.)
    writer.put_text(last == run.blocks.size() ? std::string_view(run.last_key) : run.trigger(last));
  };
  return exchange<GeneralRun>(runs.size(), peers, put, [](MessageReader& reader, GeneralRun& run) {
    run.records = reader.get<std::uint64_t>();
    get_blocks(reader, run);
    for (GeneralBlock& block : run.blocks) {
      block.trigger_begin = static_cast<std::uint32_t>(run.triggers.size());
      run.triggers += reader.get_text();
      run.bytes += block.bytes;
      run.largest_block = std::max(run.largest_block, BlockSource::buffer_bytes(block));
    }
    run.last_key = reader.get_text();
  });
}

}  // namespace xxl
