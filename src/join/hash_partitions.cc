#include "join/hash_partitions.h"

#include <algorithm>

namespace xxl {

void HashPartitions::distribute(Ticket ticket, const Segment& segment,
                                const ScatterScratch& scratch) {
  std::fill_n(scratch.counts, chains_.size(), 0);
  table_.classify(layout_, segment, scratch.ids, scratch.counts);
  turns_.wait_for(ticket);
  for (std::size_t partition = 0; partition < chains_.size(); ++partition) {
    slab_chains_.make_room(chains_[partition], partition, scratch);
  }
  turns_.end(ticket);
  slab_chains_.scatter(segment, scratch.ids, scratch);
}

std::vector<RecordNumbers> HashPartitions::number(std::span<std::byte*> slabs) const {
  std::vector<RecordNumbers> numbers;
  std::size_t slab = 0;
  for (const Chain& chain : chains_) {
    numbers.push_back(
        {slab * slab_chains_.records_per_slab(), static_cast<std::size_t>(chain.records)});
    for (SlabId id = chain.head; id != kNoSlab; id = slabs_.next(id)) {
      slabs[slab++] = slabs_.data(id);
    }
  }
  return numbers;
}

void HashPartitions::clear() {
  for (Chain& chain : chains_) {
    slabs_.give_back(chain.head);
    chain = {};
  }
  turns_.restart();
}

}  // namespace xxl
