#include "gpu/sort/chunk_exchange.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"

namespace xxl::gpu {

ChunkExchange::ChunkExchange(const ChunkFormat& format,
                             std::span<const std::unique_ptr<EngineLane>> lanes,
                             std::vector<SortedPiece> pieces, Ready ready)
    : format_(format), lanes_(lanes), pieces_(std::move(pieces)), ready_(std::move(ready)) {}

std::vector<std::uint64_t> ChunkExchange::items_of_devices() const {
  std::vector<std::uint64_t> items(lanes_.size(), 0);
  for (const SortedPiece& piece : pieces_) items[piece.device] += piece.items.count;
  return items;
}

void ChunkExchange::start() {
  DeviceGroup all{0, lanes_.size(), {}};
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    all.fragments.push_back({i, 0, pieces_[i].items.count, {pieces_[i].device, i, 0}});
  }
  order_fragments(all.fragments);
  divide(std::move(all));
}

void ChunkExchange::divide(DeviceGroup group) {
  if (group.end - group.first == 1) {
    ready_(group.first, sequences_of(group.fragments));
    return;
  }
  // Equal items without values are identical: any of them may count as the first. Counting those of
  // the left half first swaps least; otherwise pieces of both halves alternate.
  if (format_.shape.item.value_bytes == 0) {
    std::stable_partition(
        group.fragments.begin(), group.fragments.end(),
        [&](const Fragment& fragment) { return fragment.place.device < group.middle(); });
  }
  cut(std::move(group));
}

void ChunkExchange::cut(DeviceGroup group) {
  const std::uint64_t rank = items_before(group.fragments, group.middle());
  if (rank == 0 || items_before(group.fragments, group.end) == rank) {
    std::vector<std::uint64_t> cuts(group.fragments.size(), 0);  // a half has nothing
    for (std::size_t i = 0; i < cuts.size() && rank > 0; ++i) cuts[i] = group.fragments[i].count;
    swap_halves(group, cuts);
    return;
  }
  auto work = std::make_shared<std::pair<DeviceGroup, std::vector<std::uint64_t>>>(
      std::move(group), std::vector<std::uint64_t>());
  const EngineLane& lane = *lanes_[work->first.first];
  lane.leaving->run(
      "cut halves",
      [this, &lane, rank, work](Stream& stream) {
        work->second = stream.cut(format_.shape.item, lane.view, format_.shape.by_address,
                                  sequences_of(work->first.fragments), {&rank, 1});
      },
      [this, work] { swap_halves(work->first, work->second); });
}

void ChunkExchange::swap_halves(const DeviceGroup& group, const std::vector<std::uint64_t>& cuts) {
  struct Work {
    DeviceGroup left;
    DeviceGroup right;
    std::vector<std::vector<Swap>> parts;  // of devices
    std::size_t undone = 0;                // parts
  };
  Halving halving = halve(group.fragments, cuts, group.middle());
  const auto work = std::make_shared<Work>();
  work->left = {group.first, group.middle(), std::move(halving.left)};
  work->right = {group.middle(), group.end, std::move(halving.right)};
  work->parts = deal_swaps(halving.swaps, lanes_.size(), lanes_[group.first]->merged.count);
  work->undone = static_cast<std::size_t>(
      std::count_if(work->parts.begin(), work->parts.end(),
                    [](const std::vector<Swap>& part) { return !part.empty(); }));
  const auto halves = [this](Work& done) {
    divide(std::move(done.left));
    divide(std::move(done.right));
  };
  if (work->undone == 0) {
    halves(*work);
    return;
  }
  for (std::size_t device = group.first; device < group.end; ++device) {
    if (work->parts[device].empty()) continue;
    lanes_[device]->leaving->run(
        "swap",
        [this, device, work](Stream& stream) { swap_on(device, work->parts[device], stream); },
        [work, halves] {
          if (--work->undone == 0) halves(*work);
        });
  }
}

// The peer's items go to the buffer, our items to the peer, and the buffer to our place: as the
// other device does the same with its part, the link carries in both directions.
void ChunkExchange::swap_on(std::size_t device, std::span<const Swap> swaps, Stream& stream) const {
  const ItemShape& shape = format_.shape.item;
  const auto copy = [&](const Items& to, const Items& from) {
    stream.copy(to.keys, from.keys, from.count * shape.key_bytes);
    if (shape.value_bytes != 0) {
      stream.copy(to.values, from.values, from.count * shape.value_bytes);
    }
  };
  for (const Swap& swap : swaps) {
    const bool is_left = swap.left.device == device;
    const Items own = items_at(is_left ? swap.left : swap.right, swap.count);
    const Items peers = items_at(is_left ? swap.right : swap.left, swap.count);
    const Items buffer = lanes_[device]->merged.part(shape, 0, own.count);
    copy(buffer, peers);
    copy(peers, own);
    copy(own, buffer);
  }
}

Items ChunkExchange::items_at(const ItemPlace& place, std::uint64_t count) const {
  return pieces_[place.piece].items.part(format_.shape.item, static_cast<std::size_t>(place.item),
                                         static_cast<std::size_t>(count));
}

std::vector<Items> ChunkExchange::sequences_of(std::span<const Fragment> fragments) const {
  if (fragments.size() > kMaxSequences) {
    throw Error(ErrorCode::device, "pieces of a chunk have fallen into " +
                                       std::to_string(fragments.size()) +
                                       " fragments, too many for a GPU: partition instead");
  }
  std::vector<Items> sequences;
  sequences.reserve(fragments.size());
  for (const Fragment& fragment : fragments) {
    sequences.push_back(items_at(fragment.place, fragment.count));
  }
  return sequences;
}

}  // namespace xxl::gpu
