// A hash table of the records of one side of a join, the build side, as devices and the host read
// it.
//
// Open addressing with linear probing over `slots`, each the number of a record, so that a slot
// takes 4 bytes whatever the key is; records of one key are chained by `next`. Numbers count from
// 1; 0 is none. Both arrays are written once, by atomic operations, before the first look-up.
//
// A table has two parts: keys with small hashes are in the near part, in memory of the device, all
// others in the far part, in pinned memory of the host, which devices read over the link. So of a
// table that is larger than the device's memory only the look-ups in the far part are slow (the
// hybrid hash table of Lutz et al., "Pump Up the Volume", SIGMOD 2020, section 5.2; there one array
// spans both memories, here each part is built by the processor that is near it).
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/device/host_device.h"
#include "gpu/device/match.h"

namespace xxl::gpu {

struct HashPart {
  std::uint32_t* slots = nullptr;
  std::uint32_t* next = nullptr;  // of each record, by its place
  const std::byte* records = nullptr;
  std::uint64_t slot_count = 0;  // at least one more than there are keys

  XXL_HOST_DEVICE std::uint64_t home(std::uint64_t hash) const {
    return ((hash & 0xffffffffu) * slot_count) >> 32;
  }
  XXL_HOST_DEVICE std::uint64_t after(std::uint64_t slot) const {
    return slot + 1 == slot_count ? 0 : slot + 1;
  }
};

struct DeviceHashTable {
  // Upper halves of hashes are below this.
  static constexpr std::uint64_t kAll = std::uint64_t{1} << 32;

  HashPart near, far;
  std::uint64_t near_share = kAll;  // of upper halves of hashes, those below are in `near`
  std::uint32_t record_bytes = 0;
  std::uint32_t key_bytes = 8;  // at the start of a record; 4 or 8
  bool chains = true;           // false: there are no two records of one key

  // Mixes all bits of a key into all bits (Stafford's variant 13 of MurmurHash3's finalizer).
  XXL_HOST_DEVICE static std::uint64_t hash(std::uint64_t key) {
    key ^= key >> 30;
    key *= 0xbf58476d1ce4e5b9u;
    key ^= key >> 27;
    key *= 0x94d049bb133111ebu;
    return key ^ (key >> 31);
  }
  XXL_HOST_DEVICE bool is_near(std::uint64_t hash) const { return hash >> 32 < near_share; }
  XXL_HOST_DEVICE const HashPart& part_of(std::uint64_t hash) const {
    return is_near(hash) ? near : far;
  }
  template <class Key>
  XXL_HOST_DEVICE Key key_of(const HashPart& part, std::uint32_t number) const {
    return *reinterpret_cast<const Key*>(part.records + std::uint64_t{number - 1} * record_bytes);
  }
  // The first of the chain of records with this key, or 0.
  template <class Key>
  XXL_HOST_DEVICE std::uint32_t find(const HashPart& part, std::uint64_t hash, Key key) const {
    for (std::uint64_t slot = part.home(hash);; slot = part.after(slot)) {
      const std::uint32_t number = part.slots[slot];
      if (number == 0 || key_of<Key>(part, number) == key) return number;
    }
  }
  // Length of the chain that begins with `number`.
  XXL_HOST_DEVICE std::uint32_t chain_length(const HashPart& part, std::uint32_t number) const {
    if (!chains) return number != 0;
    std::uint32_t length = 0;
    for (; number != 0; number = part.next[number - 1]) ++length;
    return length;
  }
};

// Records that are looked up, and which rows are made of them: the key, the record's value, and the
// value of the record of the table. Values are of no bytes or as many as the key.
struct ProbeShape {
  std::uint32_t record_bytes = 0;
  WantedRows wanted;          // R are the records that are looked up
  bool build_value = false;   // rows have a value of the table's record
  std::uint64_t missing = 0;  // what stands there if there is none

  XXL_HOST_DEVICE std::uint32_t rows(std::uint32_t found) const {
    if (found == 0) return wanted.lone_r;
    return wanted.pairs ? found : wanted.matched_r;
  }
  // Of records whose keys have `key_bytes`.
  XXL_HOST_DEVICE std::uint32_t row_bytes(std::uint32_t key_bytes) const {
    return record_bytes + (build_value ? key_bytes : 0);
  }
};

}  // namespace xxl::gpu
