#include "gpu/join/join_lane.h"

#include "base/units.h"

namespace xxl::gpu {

std::size_t JoinPlaceShape::bytes() const {
  return aligned(records * record_bytes) + aligned(records * key_bytes) +
         aligned(records * sizeof(MatchRange)) + aligned(records * row_bytes);
}

JoinLane::JoinLane(Device& device, std::size_t index, const JoinPlaceShape& shape, Mailbox& mailbox,
                   TimeLine* time_line)
    : memory(device, kPlaces * shape.bytes()) {
  std::byte* at = memory.data();
  const auto take = [&at](std::size_t bytes) {
    std::byte* const taken = at;
    at += aligned(bytes);
    return taken;
  };
  for (std::size_t i = 0; i < kPlaces; ++i) {
    JoinPlace place;
    place.records = take(shape.records * shape.record_bytes);
    place.keys = take(shape.records * shape.key_bytes);
    place.ranges = reinterpret_cast<MatchRange*>(take(shape.records * sizeof(MatchRange)));
    place.rows = take(shape.records * shape.row_bytes);
    places.push_back(place);
  }
  const std::string name = "GPU " + std::to_string(index);
  const auto thread = [&](const char* what) {
    return std::make_unique<StreamThread>(device.make_stream(), mailbox, name + what, time_line);
  };
  for (auto& copying : in) copying = thread(" copy in");
  work = thread(" join");
  for (auto& copying : out) copying = thread(" copy out");
}

}  // namespace xxl::gpu
