// The chunk engine's share of a device: its memory, divided, and threads with streams of their own.
//
// A lane belongs to the coordinator thread. Work areas are used by tasks of one thread only, each
// within a task, save `result`, which a batch keeps until all of it is gathered:
//
//     arriving   sorts pieces                             arrived, arrival_scratch
//     leaving    cuts, swaps, sorts batches, and gathers  merged, result, offsets, leaving_scratch
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/mailbox.h"
#include "base/time_line.h"
#include "gpu/device/device.h"
#include "gpu/device/host_link.h"
#include "gpu/device/key_view.h"
#include "gpu/device/stream_thread.h"
#include "gpu/sort/chunk_geometry.h"

namespace xxl::gpu {

struct EngineLane {
  // A chunk's memory: records from the front, sorted items from the back.
  struct Arena {
    std::byte* begin = nullptr;
    std::uint64_t front = 0;
    std::uint64_t back = 0;
    std::size_t pieces = 0;      // number
    std::uint64_t promised = 0;  // to items of pieces that are not complete

    std::uint64_t room() const { return back - front - promised; }
  };

  // `device`, those of `ways` and `mailbox` must outlive the lane; `index` is for names in
  // `time_line`, which may be null. Throws Error{no_space} if the device has less than
  // geometry.memory_bytes(), or the key takes more than kKeyTableBytes.
  EngineLane(Device& device, const CopyWays& ways, std::size_t index, const ChunkFormat& format,
             const ChunkGeometry& geometry, Mailbox& mailbox, TimeLine* time_line);

  // Waits for the tasks that are running and drops later ones. Where devices are peers, all lanes
  // must have ended their threads before the first one is destroyed: tasks use each other's memory.
  void end_threads();

  DeviceMemory memory;
  std::vector<Arena> arenas;        // of chunks
  std::vector<std::byte*> landing;  // free slots for pieces
  std::vector<std::byte*> slots;    // free ones for slices
  Items arrived;                    // a piece that is to be sorted
  Items merged;                     // a batch that is to be sorted; what is swapped with peers
  Items result;                     // a batch
  std::uint64_t* offsets = nullptr;
  std::span<std::byte> arrival_scratch;
  std::span<std::byte> leaving_scratch;
  KeyView view;
  // Last: they end before the memory goes.
  HostLink link;
  std::unique_ptr<StreamThread> arriving;
  std::unique_ptr<StreamThread> leaving;

 private:
  // Returns the place for the tables of the view.
  std::byte* divide_memory(Device& device, const ChunkFormat& format,
                           const ChunkGeometry& geometry);
  void make_view(const ChunkFormat& format, std::byte* table, Stream& stream);
};

}  // namespace xxl::gpu
