// The memory of a hash table on a device: its near part (device_hash_table.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/device/device.h"
#include "gpu/join/join_lane.h"

namespace xxl::gpu {

// Sizes of a device's share of a hash join, all of them maxima.
struct HashJoinShape {
  std::size_t build_records = 0;  // of the near part of the table, number
  std::size_t build_record_bytes = 0;
  JoinPlaceShape batch;  // of the probe side; as many rows leave at once

  // Slots of a table of `records` records: half of them stay empty.
  static std::size_t slots(std::size_t records) { return 2 * records + 2; }
  // Memory of a device.
  std::size_t table_bytes() const;
  std::size_t bytes() const { return JoinLane::kPlaces * batch.bytes() + table_bytes(); }
};

struct HashTableMemory {
  // The report of a build.
  struct Notes {
    std::uint64_t selected = 0;
    std::uint64_t chains = 0;
  };

  // `device` must outlive it. Throws Error{no_space}.
  HashTableMemory(Device& device, const HashJoinShape& shape);

  DeviceMemory memory;
  HashPart near;  // slots, next and records in that memory
  std::byte* records = nullptr;
  Notes* notes = nullptr;  // in memory of the device
  SharedMemory shared;
  Notes* host_notes = nullptr;  // in that memory
};

}  // namespace xxl::gpu
