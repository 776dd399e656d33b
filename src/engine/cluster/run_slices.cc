#include "engine/cluster/run_slices.h"

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
};

// Of `run`, the records [begin, end).
void put_slice(MessageWriter& writer, const Run& run, SliceOrigin origin, std::uint64_t begin,
               std::uint64_t end) {
  const std::uint64_t per_block = run.records_per_block;
  const std::uint64_t first = begin / per_block, last = ceil_div(end, per_block);
  writer.put(SliceHead{origin, run.identity, first, end - first * per_block,
                       begin - first * per_block, per_block, last - first});
  for (std::uint64_t block = first; block < last; ++block) {
    RunBlock described = run.blocks[block];
    described.slots = 1;
    described.place = {.slot = static_cast<std::uint32_t>(block)};
    writer.put(described);
  }
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
  return run;
}

}  // namespace

RunSlices exchange_slices(const std::vector<Run>& runs, const RunCuts& cuts, Peers& peers) {
  std::vector<Message> messages;
  for (std::size_t rank = 0; rank < peers.ranks(); ++rank) {
    MessageWriter writer;
    for (std::uint32_t run = 0; run < runs.size(); ++run) {
      const std::uint64_t begin = cuts[rank][run], end = cuts[rank + 1][run];
      if (begin < end) put_slice(writer, runs[run], {peers.rank(), run}, begin, end);
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
