#include "gpu/join/host_hash.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "gpu/join/row_stream.h"

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

template <class Key>
std::uint64_t probe_with(const DeviceHashTable& table, const ProbeShape& shape,
                         const std::byte* records, std::size_t count, MatchRange* found) {
  // A few at a time, so that memory is fetched for all of them at once.
  constexpr std::size_t kGroup = 32;
  std::uint64_t hashes[kGroup];
  std::uint64_t rows = 0;
  for (std::size_t first = 0; first < count; first += kGroup) {
    const std::size_t group = std::min(kGroup, count - first);
    const std::byte* const from = records + first * shape.record_bytes;
    for (std::size_t i = 0; i < group; ++i) {
      hashes[i] = DeviceHashTable::hash(key_at<Key>(from + i * shape.record_bytes));
      const HashPart& part = table.part_of(hashes[i]);
      __builtin_prefetch(part.slots + part.home(hashes[i]));
    }
    for (std::size_t i = 0; i < group; ++i) {
      const HashPart& part = table.part_of(hashes[i]);
      const std::uint32_t number = part.slots[part.home(hashes[i])];
      if (number == 0) continue;
      __builtin_prefetch(part.records + std::uint64_t{number - 1} * table.record_bytes);
      if (table.chains) __builtin_prefetch(part.next + (number - 1));
    }
    for (std::size_t i = 0; i < group; ++i) {
      const HashPart& part = table.part_of(hashes[i]);
      const std::uint32_t number =
          table.find(part, hashes[i], key_at<Key>(from + i * shape.record_bytes));
      const std::uint32_t length = table.chain_length(part, number);
      found[first + i] = {number, length};
      rows += shape.rows(length);
    }
  }
  return rows;
}

template <class Key>
void write_with(const DeviceHashTable& table, const ProbeShape& shape, const std::byte* records,
                std::size_t count, const MatchRange* found, std::byte* rows) {
  RowStream out(rows);
  const std::uint32_t record_bytes = shape.record_bytes;
  const std::uint32_t row_bytes = shape.row_bytes(sizeof(Key));
  const auto put = [&](const std::byte* record, const void* value) {
    std::byte* const row = out.row(row_bytes);
    // The sizes are few: make them constants.
    if (record_bytes == 2 * sizeof(Key)) {
      std::memcpy(row, record, 2 * sizeof(Key));
    } else {
      std::memcpy(row, record, sizeof(Key));
    }
    if (shape.build_value) std::memcpy(row + record_bytes, value, sizeof(Key));
  };
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* const record = records + i * record_bytes;
    std::uint32_t number = found[i].first;
    if (number == 0 || !shape.wanted.pairs) {
      if (shape.rows(found[i].count) != 0) put(record, &shape.missing);
      continue;
    }
    const HashPart& part = table.part_of(DeviceHashTable::hash(key_at<Key>(record)));
    for (std::uint32_t k = 0; k < found[i].count; ++k) {
      put(record, part.records + std::uint64_t{number - 1} * table.record_bytes + sizeof(Key));
      if (table.chains) number = part.next[number - 1];
    }
  }
  out.flush();
}

}  // namespace

bool insert_records(const DeviceHashTable& table, const HashPart& part, std::size_t first,
                    std::size_t end) {
  return table.key_bytes == 4 ? insert_with<std::uint32_t>(table, part, first, end)
                              : insert_with<std::uint64_t>(table, part, first, end);
}

std::uint64_t probe_records(const DeviceHashTable& table, const ProbeShape& shape,
                            const std::byte* records, std::size_t count, MatchRange* found) {
  return table.key_bytes == 4 ? probe_with<std::uint32_t>(table, shape, records, count, found)
                              : probe_with<std::uint64_t>(table, shape, records, count, found);
}

void write_probe_rows(const DeviceHashTable& table, const ProbeShape& shape,
                      const std::byte* records, std::size_t count, const MatchRange* found,
                      std::byte* rows) {
  if (table.key_bytes == 4) {
    write_with<std::uint32_t>(table, shape, records, count, found, rows);
  } else {
    write_with<std::uint64_t>(table, shape, records, count, found, rows);
  }
}

}  // namespace xxl::gpu
