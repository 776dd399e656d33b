#include "join/hash_partitions.h"

namespace xxl {

void HashPartitions::distribute(std::uint64_t ticket, const Segment& segment,
                                const ScatterScratch& scratch) {
  for (std::uint64_t turn; (turn = turn_.load(std::memory_order_acquire)) != ticket;) {
    turn_.wait(turn, std::memory_order_acquire);
  }
  for (std::size_t partition = 0; partition < chains_.size(); ++partition) {
    slab_chains_.make_room(chains_[partition], partition, scratch);
  }
  turn_.store(ticket + 1, std::memory_order_release);
  turn_.notify_all();
  slab_chains_.scatter(segment, scratch.ids, scratch);
}

std::vector<RecordNumbers> HashPartitions::number(std::span<std::byte*> slabs) const {
  std::vector<RecordNumbers> numbers;
  std::size_t slab = 0;
  for (const Chain& chain : chains_) {
    numbers.push_back(
        {slab * slab_chains_.records_per_slab(), static_cast<std::size_t>(chain.records)});
    for (SlabId id = chain.head; id != kNoSlab; id = slabs_.next(id))
      slabs[slab++] = slabs_.data(id);
  }
  return numbers;
}

void HashPartitions::clear() {
  for (Chain& chain : chains_) {
    slabs_.give_back(chain.head);
    chain = {};
  }
  turn_ = 0;
}

}  // namespace xxl
