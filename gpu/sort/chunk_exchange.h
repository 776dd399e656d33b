// Devices swap halves of a chunk, until each holds the items of one range of ranks
// (MultiGpu::p2p_merge). exchange.h describes the algorithm and its source; this does it:
//
//     halve [0, 4)   cut on device 0; swaps on all four
//     halve [0, 2), halve [2, 4)      at the same time, each when the stage before is done
//     devices 0, 1, 2, 3 are ready    each as soon as it is
//
// Cuts and swaps are tasks of the lanes' `leaving` threads. A swap goes through the work area
// `merged` of its lane; items of records by address are swapped, the records stay in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "gpu/device/device.h"
#include "gpu/sort/chunk_geometry.h"
#include "gpu/sort/engine_lane.h"
#include "gpu/sort/exchange.h"

namespace xxl::gpu {

class ChunkExchange {
 public:
  // A sorted piece of the chunk, on the device of lanes[device].
  struct SortedPiece {
    std::size_t device = 0;
    Items items;
  };
  // Called by the coordinator thread, once for each device: the device is done, and holds the items
  // of `sequences`, all in its own memory. Each is sorted; of equal items those of earlier
  // sequences come first.
  using Ready = std::function<void(std::size_t device, std::vector<Items> sequences)>;

  // Most sequences that are cut at once: what Stream::cut can take on the GPUs that have links
  // among each other (24 bytes of shared memory for each, of 163 KiB).
  static constexpr std::size_t kMaxSequences = 6144;

  // `pieces`: in the order of input; their memory must stay until the last device is ready. The
  // devices must be peers. `format` and `lanes` must outlive the exchange, and the exchange the
  // tasks of the lanes.
  ChunkExchange(const ChunkFormat& format, std::span<const std::unique_ptr<EngineLane>> lanes,
                std::vector<SortedPiece> pieces, Ready ready);
  ChunkExchange(const ChunkExchange&) = delete;
  ChunkExchange& operator=(const ChunkExchange&) = delete;

  // Items that each device holds, before and after, in the order of ranks.
  std::vector<std::uint64_t> items_of_devices() const;

  // Begins. Coordinator thread; devices with nothing to wait for are ready before it returns.
  // Failures of operations are thrown by the mailbox. Throws Error{device} there if pieces fall
  // into more than kMaxSequences fragments.
  void start();

 private:
  // Devices [first, end), and all that they hold.
  struct DeviceGroup {
    std::size_t first = 0;
    std::size_t end = 0;
    std::vector<Fragment> fragments;

    std::size_t middle() const { return first + (end - first) / 2; }
  };

  void divide(DeviceGroup group);
  void cut(DeviceGroup group);
  void swap_halves(const DeviceGroup& group, const std::vector<std::uint64_t>& cuts);
  void swap_on(std::size_t device, std::span<const Swap> swaps, Stream& stream) const;
  Items items_at(const ItemPlace& place, std::uint64_t count) const;
  std::vector<Items> sequences_of(std::span<const Fragment> fragments) const;

  const ChunkFormat& format_;
  std::span<const std::unique_ptr<EngineLane>> lanes_;
  std::vector<SortedPiece> pieces_;
  Ready ready_;
};

}  // namespace xxl::gpu
