#include "gpu/join/join_lane.h"

#include <string>

#include "base/units.h"

namespace xxl::gpu {

std::size_t JoinPlaceShape::bytes() const {
  return aligned(records * record_bytes) + aligned(records * key_bytes) +
         aligned(records * sizeof(MatchRange)) + aligned(records * row_bytes);
}

JoinLane::JoinLane(Device& device, std::size_t index, const JoinPlaceShape& shape,
                   const char* work_name, Mailbox& mailbox, TimeLine* time_line)
    : memory(device, kPlaces * shape.bytes()),
      link(device, {}, "GPU " + std::to_string(index), mailbox, time_line),
      work(device.make_stream(), mailbox, "GPU " + std::to_string(index) + work_name, time_line) {
  const std::size_t tiles = ceil_div(shape.records, kMatchTile);
  const std::size_t totals_bytes = shape.totals ? aligned(tiles * sizeof(TileTotals)) : 0;
  if (shape.totals) totals = SharedMemory(device, kPlaces * totals_bytes);
  MemoryCutter areas(memory.data()), shared(totals.data());
  for (std::size_t i = 0; i < kPlaces; ++i) {
    JoinPlace& place = places.emplace_back();
    place.records = areas.take(shape.records * shape.record_bytes);
    place.keys = areas.take(shape.records * shape.key_bytes);
    place.ranges = areas.take_array<MatchRange>(shape.records);
    place.rows = areas.take(shape.records * shape.row_bytes);
    if (shape.totals) place.totals = shared.take_array<TileTotals>(tiles);
  }
}

}  // namespace xxl::gpu
