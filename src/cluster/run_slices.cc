#include "cluster/run_slices.h"

#include <utility>

#include "base/units.h"
#include "cluster/message.h"

namespace xxl {
namespace {

struct SliceHead {
  SliceOrigin origin;
  std::uint64_t records;
  std::uint64_t skipped;
  std::uint64_t records_per_block;
};

// Of `run`, the records [begin, end).
void put_slice(MessageWriter& writer, const Run& run, SliceOrigin origin, std::uint64_t begin,
               std::uint64_t end, bool with_places) {
  const std::uint64_t per_block = run.records_per_block;
  const std::uint64_t first = begin / per_block;
  writer.put(SliceHead{origin, end - first * per_block, begin - first * per_block, per_block});
  put_blocks(writer, run, first, ceil_div(end, per_block), with_places);
}

Run get_slice(MessageReader& reader, SliceOrigin& origin) {
  const auto head = reader.get<SliceHead>();
  origin = head.origin;
  Run run;
  run.records = head.records;
  run.skipped = head.skipped;
  run.records_per_block = head.records_per_block;
  get_blocks(reader, run);
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
