// The processors' part of a hash table in host memory: entering its records.
#pragma once

#include <cstddef>

#include "gpu/device/device_hash_table.h"

namespace xxl::gpu {

// Enters records [first, end) of `part` that belong to it, which is one of `table`; any number of
// threads at once. Slots must be cleared before. True if some key was already there.
bool insert_records(const DeviceHashTable& table, const HashPart& part, std::size_t first,
                    std::size_t end);

}  // namespace xxl::gpu
