#include "gpu/join/host_hash.h"

#include <atomic>
#include <cstring>

namespace xxl::gpu {
namespace {

template <class Key>
Key key_at(const std::byte* record) {
  Key key;
  std::memcpy(&key, record, sizeof key);
  return key;
}

template <class Key>
bool insert_with(const DeviceHashTable& table, const HashPart& part, std::size_t first,
                 std::size_t end) {
  const bool near = &part == &table.near;
  bool chains = false;
  for (std::size_t i = first; i < end; ++i) {
    const auto key = key_at<Key>(part.records + i * table.record_bytes);
    const std::uint64_t hash = DeviceHashTable::hash(key);
    if (table.is_near(hash) != near) continue;
    const auto number = static_cast<std::uint32_t>(i + 1);
    for (std::uint64_t slot = part.home(hash);; slot = part.after(slot)) {
      const std::atomic_ref<std::uint32_t> head(part.slots[slot]);
      std::uint32_t there = head.load(std::memory_order_relaxed);
      if (there == 0 && head.compare_exchange_strong(there, number, std::memory_order_relaxed)) {
        part.next[i] = 0;
        break;
      }
      if (table.key_of<Key>(part, there) != key) continue;
      // From now on the slot is this key's: its content is the rest of the chain.
      part.next[i] = head.exchange(number, std::memory_order_relaxed);
      chains = true;
      break;
    }
  }
  return chains;
}

}  // namespace

bool insert_records(const DeviceHashTable& table, const HashPart& part, std::size_t first,
                    std::size_t end) {
  return table.key_bytes == 4 ? insert_with<std::uint32_t>(table, part, first, end)
                              : insert_with<std::uint64_t>(table, part, first, end);
}

}  // namespace xxl::gpu
