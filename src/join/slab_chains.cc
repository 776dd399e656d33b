#include "join/slab_chains.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/memory_region.h"

namespace xxl {

std::size_t ScatterScratch::bytes(std::size_t records, std::size_t chains) {
  return records * sizeof(std::uint16_t) + chains * (sizeof(std::uint32_t) + sizeof(SlabId)) +
         2 * chains * sizeof(std::byte*) + 5 * 64;
}

ScatterScratch ScatterScratch::carve(std::span<std::byte> memory, std::size_t records,
                                     std::size_t chains) {
  Carver carver(memory);
  const auto take = [&carver]<class T>(T*, std::size_t count) {
    return reinterpret_cast<T*>(carver.take(count * sizeof(T), 64).data());
  };
  ScatterScratch scratch;
  scratch.ids = take(static_cast<std::uint16_t*>(nullptr), records);
  scratch.counts = take(static_cast<std::uint32_t*>(nullptr), chains);
  scratch.place = take(static_cast<std::byte**>(nullptr), chains);
  scratch.end = take(static_cast<std::byte**>(nullptr), chains);
  scratch.slab = take(static_cast<SlabId*>(nullptr), chains);
  return scratch;
}

SlabChains::SlabChains(SlabPool& slabs, std::size_t record_bytes)
    : slabs_(slabs),
      record_bytes_(record_bytes),
      records_per_slab_(slabs.slab_bytes() / record_bytes) {
  XXL_CHECK(records_per_slab_ > 0);
}

std::size_t SlabChains::slabs_missing(const Chain& chain, std::size_t records) const {
  const std::size_t used = chain.records % records_per_slab_;
  const std::size_t room = used == 0 ? 0 : records_per_slab_ - used;
  return records <= room ? 0 : (records - room + records_per_slab_ - 1) / records_per_slab_;
}

void SlabChains::make_room(Chain& chain, std::size_t number, const ScatterScratch& scratch) {
  const std::size_t count = scratch.counts[number];
  if (count == 0) return;
  const std::size_t wanted = slabs_missing(chain, count);
  const std::size_t used = chain.records % records_per_slab_;
  SlabId start = chain.tail;
  if (wanted > 0) {
    const SlabId first = slabs_.take(wanted, chain.tail);
    XXL_CHECK(first != kNoSlab);
    if (chain.head == kNoSlab) chain.head = first;
    if (used == 0) start = first;
    chain.tail = first;
    while (slabs_.next(chain.tail) != kNoSlab) chain.tail = slabs_.next(chain.tail);
  }
  scratch.slab[number] = start;
  scratch.place[number] = slabs_.data(start) + used * record_bytes_;
  scratch.end[number] = slabs_.data(start) + records_per_slab_ * record_bytes_;
  chain.records += count;
}

void SlabChains::scatter(const Segment& segment, const std::uint16_t* ids,
                         const ScatterScratch& scratch) const {
  switch (record_bytes_) {
    case 4:
      return scatter_of<4>(segment, ids, scratch);
    case 8:
      return scatter_of<8>(segment, ids, scratch);
    case 16:
      return scatter_of<16>(segment, ids, scratch);
    case 100:
      return scatter_of<100>(segment, ids, scratch);
    default:
      return scatter_of<0>(segment, ids, scratch);
  }
}

// kRecordBytes = 0: the size is not known to the compiler.
template <std::size_t kRecordBytes>
void SlabChains::scatter_of(const Segment& segment, const std::uint16_t* ids,
                            const ScatterScratch& scratch) const {
  const std::size_t record_bytes = kRecordBytes != 0 ? kRecordBytes : record_bytes_;
  const std::byte* record = segment.records;
  for (std::size_t i = 0; i < segment.count; ++i, record += record_bytes) {
    const std::size_t chain = ids[i];
    std::byte* place = scratch.place[chain];
    if (place == scratch.end[chain]) [[unlikely]] {
      const SlabId slab = slabs_.next(scratch.slab[chain]);
      scratch.slab[chain] = slab;
      place = slabs_.data(slab);
      scratch.end[chain] = place + records_per_slab_ * record_bytes;
    }
    std::memcpy(place, record, record_bytes);
    scratch.place[chain] = place + record_bytes;
  }
}

void SlabChains::append_segments(const Chain& chain, std::vector<Segment>& segments) const {
  std::uint64_t left = chain.records;
  for (SlabId slab = chain.head; left > 0; slab = slabs_.next(slab)) {
    const std::size_t count = std::min<std::uint64_t>(left, records_per_slab_);
    segments.push_back({slabs_.data(slab), count});
    left -= count;
  }
}

}  // namespace xxl
