// Sorts chunks of records on one or several devices.
//
// A chunk is as many records as fit into the memory of the devices. It arrives in pieces, dealt to
// the devices in turn; each piece is sorted as soon as it is there, while the next ones are on
// their way. When the last one is sorted, all pieces together are cut at exact ranks into batches
// (Stream::cut: multisequence selection, so batches are equal whatever the keys), and each batch is
// put together and sorted again, while earlier ones are copied out:
//
//     copy in    [piece 0][piece 1][piece 2] ...          [next chunk ...
//     sort                [  0 ][  1 ][  2 ]  [cut][batch 0][batch 1][batch 2]
//     copy out                                             [ batch 0 ][ batch 1 ]
//
// Devices sort faster than the link to the host carries, so a chunk takes the time of its copies
// plus that of one piece and one batch; and since pieces and batches are small, nearly all memory
// of a device holds records. (Sorting the chunk at once, as the papers do, costs twice its memory,
// and the time of the sort on top.)
//
// On several devices batch b is put together on device b mod n, which reads the parts of it from
// all others: the exchange between devices is spread over the time in which results are copied out,
// and needs neither a phase nor memory of its own (MultiGpu::partition). With MultiGpu::p2p_merge
// devices swap halves first (chunk_exchange.h); then each cuts and puts out what it holds itself.
// That is one range of ranks for each device, so where slices must leave in order, devices leave
// one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/mailbox.h"
#include "base/time_line.h"
#include "gpu/device/device.h"
#include "gpu/device/topology.h"
#include "gpu/sort/chunk_exchange.h"
#include "gpu/sort/chunk_geometry.h"
#include "gpu/sort/engine_lane.h"

namespace xxl::gpu {

class ChunkEngine {
 public:
  // A piece on its way to a device. Belongs to the engine.
  struct DevicePiece {
    std::byte* records = nullptr;  // where they are to be copied, in device memory
    Items items;                   // text: where the key words and addresses go
    std::size_t device = 0;

   private:
    friend class ChunkEngine;
    std::uint64_t number = 0;
    std::size_t chunk = 0;  // slot
    std::byte* landing = nullptr;
    Items sorted;
    std::size_t bytes = 0;
    std::size_t copies = 0;  // under way
    bool closed = false;
  };

  // Consecutive records of a sorted chunk in device memory, ready to be copied out.
  struct DeviceSlice {
    std::uint64_t chunk = 0;  // number: 0, 1, 2, ...
    std::uint64_t first = 0;  // record, in the chunk (of fixed records)
    std::size_t records = 0;
    std::size_t bytes = 0;
    std::size_t device = 0;
    std::byte* data = nullptr;
  };

  // All devices have the same geometry. With MultiGpu::independent each chunk is on one device.
  // `ways` are those of all devices together.
  // References must outlive the engine. Allocates the memory: throws Error{no_space} if a device
  // does not have enough after all.
  ChunkEngine(std::vector<Device*> devices, const ChunkFormat& format,
              const ChunkGeometry& geometry, MultiGpu strategy, Mailbox& mailbox,
              TimeLine* time_line, const CopyWays& ways = {});
  ~ChunkEngine();

  // All calls by the coordinator thread, from its mailbox's loop; `done` are called from there.

  // A place for a piece of up to geometry.piece_items and piece_bytes; null if there is none now.
  DevicePiece* open_piece();
  // True if the next piece would begin a chunk, and there is a place for it.
  bool can_begin_chunk() const;
  // True if open_piece() finds no room until this chunk is sealed.
  bool chunk_is_full() const;
  // Copies `bytes` at `host` to `device`, a place in the memory of the piece.
  void copy_in(DevicePiece& piece, std::byte* device, const std::byte* host, std::size_t bytes,
               std::function<void()> done);
  // The piece is complete, with `items` records of `bytes` in all. It is sorted when all its copies
  // are done.
  void close_piece(DevicePiece* piece, std::size_t items, std::size_t bytes);
  // The chunk is complete; the next piece begins another one. The chunk must not be empty.
  void seal();

  // The next slice in order, if it is ready now. It is followed by copy_out().
  std::optional<DeviceSlice> next_slice();
  // Any slice of fixed records that is ready.
  std::optional<DeviceSlice> any_slice();
  // Copies the slice to `host`; its memory is free again when `done` is called.
  void copy_out(const DeviceSlice& slice, std::byte* host, std::function<void()> done);

  // True if everything that arrived has been given out as slices.
  bool empty() const;
  std::size_t devices() const { return devices_.size(); }
  // Time that devices spent sorting, and copying in and out, summed; for reports.
  struct Busy {
    double sort_seconds = 0;
    double in_seconds = 0;
    double out_seconds = 0;
  };
  Busy busy(std::size_t device) const;

 private:
  struct Batch {
    std::size_t device = 0;
    std::uint64_t first = 0;  // rank in the chunk
    std::size_t count = 0;
    std::vector<Items> parts;
    Items sorted;
    bool sliced = false;
    std::vector<GeneralSlice> slices;
    std::vector<std::byte*> slots;  // of slices that are ready
    bool begun = false;
    std::size_t gathering = 0;  // slices that are being gathered, or were
    std::size_t gathered = 0;   // slices that are ready, or were
    std::size_t given = 0;      // slices given out
  };
  enum class ChunkState { free, filling, sealed, leaving };
  // A place for a chunk.
  struct ChunkSlot {
    ChunkState state = ChunkState::free;
    std::uint64_t number = 0;
    std::uint64_t records = 0;
    std::vector<std::size_t> devices;
    std::vector<std::unique_ptr<DevicePiece>> pieces;
    std::size_t unsorted = 0;    // pieces, with those that are open
    std::size_t ungathered = 0;  // batches
  };
  enum class LeavingState { waiting, cutting, cut };
  // A chunk on its way out, once it is complete.
  struct Leaving {
    std::uint64_t number = 0;
    std::size_t chunk = 0;  // slot
    LeavingState state = LeavingState::waiting;
    std::deque<Batch> batches;                // by rank
    std::size_t uncut = 0;                    // batches without parts
    std::unique_ptr<ChunkExchange> exchange;  // p2p_merge
    std::size_t next = 0;                     // the first batch that has not been given out
    std::size_t given = 0;                    // batches that have
  };

  ChunkSlot* chunk_to_fill();
  bool has_room(const ChunkSlot& chunk, std::size_t device) const;
  std::size_t arena_of(std::size_t chunk) const;
  void copy_ended(DevicePiece& piece);
  void sort_piece(DevicePiece& piece);
  void piece_sorted(DevicePiece& piece);
  void pump();
  void leave(Leaving& leaving);
  void exchange(Leaving& leaving, ChunkSlot& chunk);
  void add_batches(Leaving& leaving, std::uint64_t records,
                   std::span<const std::size_t> devices) const;
  void cut(Leaving& leaving, std::size_t begin, std::size_t end, std::size_t device,
           std::vector<Items> sequences);
  void pump_lane(std::size_t device);
  void sort_batch(EngineLane& lane, Batch& batch);
  void slice_batch(Batch& batch) const;
  void gather(EngineLane& lane, const Leaving& leaving, Batch& batch);
  void batch_gathered(const Leaving& leaving);
  static bool can_give(const Batch& batch);
  DeviceSlice give(Leaving& leaving, Batch& batch);

  std::vector<Device*> devices_;
  ChunkFormat format_;
  ChunkGeometry geometry_;
  MultiGpu strategy_;
  std::vector<ChunkSlot> chunks_;  // slots
  ChunkSlot* filling_ = nullptr;
  std::deque<std::unique_ptr<Leaving>> leaving_;
  std::uint64_t chunk_numbers_ = 0;
  std::uint64_t piece_numbers_ = 0;
  // Of devices: batches to be sorted and gathered.
  std::vector<std::deque<std::pair<const Leaving*, Batch*>>> queues_;
  std::vector<std::unique_ptr<EngineLane>> lanes_;  // of devices; last: its threads use the rest
};

}  // namespace xxl::gpu
