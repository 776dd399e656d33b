// Records divided by the hash of their keys: for a table, or to be looked up partition by
// partition.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "join/hash_table.h"
#include "sort/slab_chains.h"

namespace xxl {

class HashPartitions {
 public:
  // For records of `record_bytes`; `slabs` must outlive it, with room for those of all records and
  // one more for each of `partitions`.
  HashPartitions(SlabPool& slabs, std::size_t record_bytes, std::size_t partitions)
      : slabs_(slabs), slab_chains_(slabs, record_bytes), chains_(partitions) {}

  const SlabChains& slab_chains() const { return slab_chains_; }

  // Copies the records of `segment` to their partitions, scratch.ids and scratch.counts. Calls are
  // put in the order of their `ticket` (0, 1, 2, ..., each once): earlier records stay before later
  // ones; a call waits for those before it. Any worker.
  void distribute(std::uint64_t ticket, const Segment& segment, const ScatterScratch& scratch);

  // While nothing is distributed.
  const std::vector<Chain>& chains() const { return chains_; }
  // Numbers for the records, for a table: partition by partition, with every slab's first one a
  // multiple of records_per_slab(). Fills in `slabs`, and returns the numbers of each partition.
  std::vector<RecordNumbers> number(std::span<std::byte*> slabs) const;
  // Gives all records up; tickets begin at 0 again.
  void clear();

 private:
  SlabPool& slabs_;
  SlabChains slab_chains_;
  std::vector<Chain> chains_;  // whose turn it is may change them
  std::atomic<std::uint64_t> turn_{0};
};

}  // namespace xxl
