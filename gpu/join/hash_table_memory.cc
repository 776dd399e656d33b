#include "gpu/join/hash_table_memory.h"

namespace xxl::gpu {

std::size_t HashJoinShape::table_bytes() const {
  return aligned(build_records * build_record_bytes) +
         aligned(build_records * sizeof(std::uint32_t)) +
         aligned(slots(build_records) * sizeof(std::uint32_t)) +
         aligned(sizeof(HashTableMemory::Notes));
}

HashTableMemory::HashTableMemory(Device& device, const HashJoinShape& shape)
    : memory(device, shape.table_bytes()),
      shared(device, sizeof(Notes)),
      host_notes(reinterpret_cast<Notes*>(shared.data())) {
  MemoryCutter areas(memory.data());
  records = areas.take(shape.build_records * shape.build_record_bytes);
  near.records = records;
  near.next = areas.take_array<std::uint32_t>(shape.build_records);
  near.slots = areas.take_array<std::uint32_t>(HashJoinShape::slots(shape.build_records));
  notes = areas.take_array<Notes>(1);
}

}  // namespace xxl::gpu
