// Hash tables on processors of the host: the same operations as those of Stream, in host memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/device/device_hash_table.h"
#include "gpu/device/match.h"

namespace xxl::gpu {

// Enters records [first, end) of `part` that belong to it, which is one of `table`; any number of
// threads at once. Slots must be cleared before. True if some key was already there.
bool insert_records(const DeviceHashTable& table, const HashPart& part, std::size_t first,
                    std::size_t end);

// Looks up `count` records of `shape` at `records`. found[i].first is the first of the chain.
// Returns the number of rows.
std::uint64_t probe_records(const DeviceHashTable& table, const ProbeShape& shape,
                            const std::byte* records, std::size_t count, MatchRange* found);

// Writes the rows of records that have been looked up, in the order of the records.
void write_probe_rows(const DeviceHashTable& table, const ProbeShape& shape,
                      const std::byte* records, std::size_t count, const MatchRange* found,
                      std::byte* rows);

}  // namespace xxl::gpu
