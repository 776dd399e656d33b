#include "gpu/join/hash_lane.h"

#include <string>

#include "base/units.h"

namespace xxl::gpu {

std::size_t HashLaneShape::place_bytes() const {
  return aligned(batch_records * probe_record_bytes) + aligned(batch_records * row_bytes) +
         aligned(batch_records * sizeof(MatchRange));
}

std::size_t HashLaneShape::table_bytes() const {
  return aligned(build_records * build_record_bytes) +
         aligned(build_records * sizeof(std::uint32_t)) +
         aligned(slots(build_records) * sizeof(std::uint32_t)) + aligned(sizeof(HashLane::Notes));
}

HashLane::HashLane(Device& device, std::size_t index, const HashLaneShape& shape, Mailbox& mailbox,
                   TimeLine* time_line)
    : memory(device, shape.bytes()) {
  std::byte* at = memory.data();
  const auto take = [&at](std::size_t bytes) {
    std::byte* const taken = at;
    at += aligned(bytes);
    return taken;
  };
  records = take(shape.build_records * shape.build_record_bytes);
  near.records = records;
  near.next = reinterpret_cast<std::uint32_t*>(take(shape.build_records * sizeof(std::uint32_t)));
  near.slots = reinterpret_cast<std::uint32_t*>(
      take(HashLaneShape::slots(shape.build_records) * sizeof(std::uint32_t)));
  notes = reinterpret_cast<Notes*>(take(sizeof(Notes)));
  const std::size_t totals_bytes = ceil_div(shape.batch_records, kMatchTile) * sizeof(TileTotals);
  shared_ =
      SharedMemory(device, aligned(sizeof(Notes)) + HashLaneShape::kPlaces * aligned(totals_bytes));
  host_notes = reinterpret_cast<Notes*>(shared_.data());
  for (std::size_t i = 0; i < HashLaneShape::kPlaces; ++i) {
    HashPlace place;
    place.records = take(shape.batch_records * shape.probe_record_bytes);
    place.rows = take(shape.batch_records * shape.row_bytes);
    place.found = reinterpret_cast<MatchRange*>(take(shape.batch_records * sizeof(MatchRange)));
    place.totals = reinterpret_cast<TileTotals*>(shared_.data() + aligned(sizeof(Notes)) +
                                                 i * aligned(totals_bytes));
    places.push_back(place);
  }
  const std::string name = "GPU " + std::to_string(index);
  const auto thread = [&](const char* what) {
    return std::make_unique<StreamThread>(device.make_stream(), mailbox, name + what, time_line);
  };
  for (auto& copying : in) copying = thread(" copy in");
  work = thread(" hash");
  for (auto& copying : out) copying = thread(" copy out");
}

}  // namespace xxl::gpu
