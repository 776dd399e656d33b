#include "engine/cluster/run_slices.h"

#include <span>
#include <utility>

#include "base/units.h"
#include "engine/cluster/message.h"

namespace xxl {
namespace {

struct SliceHead {
  SliceOrigin origin;
  std::uint64_t identity;
  std::uint64_t first_index;
  std::uint64_t records;
  std::uint64_t skipped;
  std::uint64_t records_per_block;
  std::uint64_t blocks;
  std::uint64_t places;
};

// Of `run`, the records [begin, end), with the places of its blocks or their numbers.
void put_slice(MessageWriter& writer, const Run& run, SliceOrigin origin, std::uint64_t begin,
               std::uint64_t end, bool with_places) {
  const std::uint64_t per_block = run.records_per_block;
  const std::uint64_t first = begin / per_block, last = ceil_div(end, per_block);
  std::vector<io::ScratchPlace> places;  // of blocks of several slots
  std::vector<RunBlock> blocks;
  for (std::uint64_t number = first; number < last; ++number) {
    RunBlock& block = blocks.emplace_back(run.blocks[number]);
    if (!with_places) {
      block.slots = 1;
      block.place = {.slot = static_cast<std::uint32_t>(number)};
    } else if (block.slots > 1) {
      const auto from = run.places.begin() + block.place.slot;
      block.place.slot = static_cast<std::uint32_t>(places.size());
      places.insert(places.end(), from, from + block.slots);
    }
  }
  writer.put(SliceHead{origin, run.identity, first, end - first * per_block,
                       begin - first * per_block, per_block, blocks.size(), places.size()});
  writer.put_bytes(std::as_bytes(std::span(blocks)));
  writer.put_bytes(std::as_bytes(std::span(places)));
}

Run get_slice(MessageReader& reader, SliceOrigin& origin) {
  const auto head = reader.get<SliceHead>();
  origin = head.origin;
  Run run;
  run.identity = head.identity;
  run.first_index = head.first_index;
  run.records = head.records;
  run.skipped = head.skipped;
  run.records_per_block = head.records_per_block;
  for (std::uint64_t block = 0; block < head.blocks; ++block) {
    run.blocks.push_back(reader.get<RunBlock>());
  }
  for (std::uint64_t place = 0; place < head.places; ++place) {
    run.places.push_back(reader.get<io::ScratchPlace>());
  }
  return run;
}

}  // namespace

RunSlices exchange_slices(const std::vector<Run>& runs, const RunCuts& cuts,
                          const LocalScratch& scratch, Peers& peers) {
  std::vector<Message> messages;
  for (unsigned rank = 0; rank < peers.ranks(); ++rank) {
    MessageWriter writer;
    for (std::uint32_t run = 0; run < runs.size(); ++run) {
      const std::uint64_t begin = cuts[rank][run], end = cuts[rank + 1][run];
      if (begin == end) continue;
      put_slice(writer, runs[run], {peers.rank(), run}, begin, end, scratch.is_open_to(rank));
    }
    messages.push_back(writer.take());
  }
  RunSlices slices;
  for (const Message& message : peers.exchange(std::move(messages))) {
    for (MessageReader reader(message); !reader.at_end();) {
      slices.runs.push_back(get_slice(reader, slices.origins.emplace_back()));
    }
  }
  return slices;
}

}  // namespace xxl
