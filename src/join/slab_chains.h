// Records distributed to chains of slabs, one chain for each partition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "join/slab_pool.h"
#include "sort/segment.h"

namespace xxl {

// The records of a partition: a chain of slabs.
struct Chain {
  SlabId head = kNoSlab;
  SlabId tail = kNoSlab;
  std::uint64_t records = 0;
};

// Memory of one worker for distributing up to `records` records to `chains` chains at once.
struct ScatterScratch {
  std::uint16_t* ids;     // `records`: the chain of each
  std::uint32_t* counts;  // a chain, as the following: how many records come
  std::byte** place;      // where the next one goes
  std::byte** end;        // end of that slab
  SlabId* slab;           // that slab
  static std::size_t bytes(std::size_t records, std::size_t chains);
  static ScatterScratch carve(std::span<std::byte> memory, std::size_t records, std::size_t chains);
};

// What is done to chains of records of one size. The chains are the caller's.
class SlabChains {
 public:
  // `slabs` must outlive it.
  SlabChains(SlabPool& slabs, std::size_t record_bytes);

  std::size_t records_per_slab() const { return records_per_slab_; }

  // Slabs that `records` more take.
  std::size_t slabs_missing(const Chain& chain, std::size_t records) const;
  // Makes room in `chain` for its scratch.counts[number] records, and notes where it is. There must
  // be as many slabs as are missing.
  void make_room(Chain& chain, std::size_t number, const ScatterScratch& scratch);
  // Copies each record to its chain, as noted. Any thread, beside others.
  void scatter(const Segment& segment, const std::uint16_t* ids,
               const ScatterScratch& scratch) const;

  // The chain as segments, in order.
  void append_segments(const Chain& chain, std::vector<Segment>& segments) const;

 private:
  template <std::size_t kRecordBytes>
  void scatter_of(const Segment& segment, const std::uint16_t* ids,
                  const ScatterScratch& scratch) const;

  SlabPool& slabs_;
  const std::size_t record_bytes_;
  const std::size_t records_per_slab_;
};

}  // namespace xxl
