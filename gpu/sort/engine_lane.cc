#include "gpu/sort/engine_lane.h"

#include <utility>

#include "base/error.h"
#include "gpu/sort/key_tables.h"

namespace xxl::gpu {

EngineLane::EngineLane(Device& device, const CopyWays& ways, std::size_t index,
                       const ChunkFormat& format, const ChunkGeometry& geometry, Mailbox& mailbox,
                       TimeLine* time_line)
    : memory(device, geometry.memory_bytes(device, format)),
      link(device, ways, "GPU " + std::to_string(index), mailbox, time_line) {
  std::byte* const table = divide_memory(device, format, geometry);
  auto stream = device.make_stream();
  make_view(format, table, *stream);
  const std::string name = "GPU " + std::to_string(index);
  arriving =
      std::make_unique<StreamThread>(std::move(stream), mailbox, name + " sort in", time_line);
  leaving =
      std::make_unique<StreamThread>(device.make_stream(), mailbox, name + " sort out", time_line);
}

void EngineLane::end_threads() {
  link.end_threads();
  arriving.reset();
  leaving.reset();
}

std::byte* EngineLane::divide_memory(Device& device, const ChunkFormat& format,
                                     const ChunkGeometry& geometry) {
  MemoryCutter areas(memory.data());
  const ItemShape& item = format.shape.item;
  for (unsigned i = 0; i < geometry.chunks; ++i) {
    arenas.push_back({areas.take(geometry.arena_bytes), 0, geometry.arena_bytes, 0});
  }
  const std::size_t landing_size = geometry.landing_bytes(format);
  for (unsigned i = 0; i < geometry.landing_slots; ++i) landing.push_back(areas.take(landing_size));
  arrived = areas.take_items(item, geometry.piece_items);
  merged = areas.take_items(item, geometry.batch_items);
  result = areas.take_items(item, geometry.batch_items);
  if (format.text) offsets = areas.take_array<std::uint64_t>(geometry.batch_items + 1);
  for (unsigned i = 0; i < geometry.slice_slots; ++i) {
    slots.push_back(areas.take(geometry.slice_bytes));
  }
  for (auto [scratch, items] : {std::pair(&arrival_scratch, geometry.piece_items),
                                std::pair(&leaving_scratch, geometry.batch_items)}) {
    const std::size_t bytes = ChunkGeometry::scratch_bytes(device, format, items);
    *scratch = {areas.take(bytes), bytes};
  }
  std::byte* const table = areas.take(kKeyTableBytes);
  XXL_CHECK(areas.end() <= memory.data() + memory.size());
  return table;
}

void EngineLane::make_view(const ChunkFormat& format, std::byte* table, Stream& stream) {
  if (!format.text && format.layout != nullptr) {
    view = upload_key_view(*format.layout, table, stream);
  }
  view.text = format.text;
  view.descending = format.descending;
}

}  // namespace xxl::gpu
