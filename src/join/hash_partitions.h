// Records divided by the hash of their keys: for a table, or to be looked up partition by
// partition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/turns.h"
#include "join/hash_table.h"
#include "join/slab_chains.h"

namespace xxl {

class HashPartitions {
 public:
  // The partitions of `table`, for records of `layout`, one of the two that it was made for. All
  // must outlive it. `slabs` has room for all records, and one more for each partition.
  HashPartitions(const HashTable& table, const KeyLayout& layout, SlabPool& slabs)
      : table_(table),
        layout_(layout),
        slabs_(slabs),
        slab_chains_(slabs, layout.record_bytes()),
        chains_(table.partitions()) {}

  const SlabChains& slab_chains() const { return slab_chains_; }

  // Copies the records of `segment` to their partitions. Calls are put in the order of their
  // `ticket` (0, 1, 2, ..., each once): earlier records stay before later ones; a call waits for
  // those before it. Any worker.
  void distribute(Ticket ticket, const Segment& segment, const ScatterScratch& scratch);

  // While nothing is distributed.
  const std::vector<Chain>& chains() const { return chains_; }
  // Numbers for the records, for a table: partition by partition, with every slab's first one a
  // multiple of records_per_slab(). Fills in `slabs`, and returns the numbers of each partition.
  std::vector<RecordNumbers> number(std::span<std::byte*> slabs) const;
  // Gives all records up; tickets begin at 0 again.
  void clear();

 private:
  const HashTable& table_;
  const KeyLayout& layout_;
  SlabPool& slabs_;
  SlabChains slab_chains_;
  std::vector<Chain> chains_;  // whose turn it is may change them
  Turns turns_;
};

}  // namespace xxl
