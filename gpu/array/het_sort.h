// Sorts an array in host memory on GPUs that cannot read each other's memory, or whose memory it is
// too large for: GPUs sort chunks, and processors merge them.
//
//                      1st group        last group
//     array        | 0 | 1 | 2 | 3 || 4 | 5 | 6 | 7 |
//     GPU 0          0 sorted          4 sorted, and copied out slice by slice -------+
//     GPU 1              1                 5                                          |
//     room         | 0 | 1 | 2 | 3 |                                                  v
//     array        <------------------------------------------ merged, while the slices arrive
//
// All GPUs are fed at the same time. What they hold in the end goes no way round through memory:
// its slices are merged as they come. Arrays that fit into the memory of all GPUs together need no
// room but for these slices; others as much as does not fit.
//
// Source: Maltenberger, Ilic, Tolovski and Rabl, "Evaluating Multi-GPU Sorting with Modern
// Interconnects" (SIGMOD 2022), section 5.3 (HET sort), which merges when all chunks are there. Of
// its 2n and 3n buffers the engine needs 2n to do what 3n does, since pieces are sorted on arrival,
// and n where there is only one group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/mailbox.h"
#include "base/memory_region.h"
#include "gpu/array/array_feed.h"
#include "gpu/array/array_sort.h"
#include "gpu/array/host_merge.h"
#include "gpu/device/device.h"
#include "gpu/sort/chunk_engine.h"
#include "record/key_layout.h"

namespace xxl::gpu {

// Device memory and threads, kept for sorting any number of arrays of one format.
class HetSorter {
 public:
  // For arrays of up to `most_bytes`, sorted with up to `memory_bytes` of each device (0: what is
  // free) and merged and copied by `threads` of processors. The devices, `layout` and `time_line`,
  // which may be null, must outlive it. Throws Error{no_space} if devices have too little memory,
  // or the host for what does not fit into theirs.
  HetSorter(const std::vector<Device*>& devices, const KeyLayout& layout, std::uint64_t most_bytes,
            std::uint64_t memory_bytes, unsigned threads, TimeLine* time_line = nullptr);

  // Sorts an array, stably. Throws Error{device}; then the contents of `to` are lost, and the
  // sorter can only be destroyed.
  void sort(const SortedArray& array);

 private:
  // Consecutive records of a chunk that are on their way to the host.
  struct Landing {
    std::size_t chunk = 0;
    Segment records;
    HostMerge::Holder holder;
    bool here = false;
  };
  // A device.
  struct Lane {
    SharedMemory memory;  // of the slots
    std::unique_ptr<ChunkEngine> engine;
    std::unique_ptr<ArrayFeed> feed;
    std::vector<std::byte*> slots = {};    // free ones, for slices
    std::vector<std::size_t> chunks = {};  // of the array, in the order of the engine's
    std::size_t fed = 0;                   // of these
    std::size_t given = 0;                 // whose slices have all been given out
    std::uint64_t slices_of = 0;           // records of the next one that have
    std::uint64_t first_chunk = 0;         // number of the first one in the engine
    std::deque<Landing> landing = {};      // in their order
  };

  std::uint64_t chunk_begin(std::size_t chunk) const;
  std::uint64_t chunk_records(std::size_t chunk) const;
  bool is_stored(std::size_t chunk) const { return chunk < stored_chunks_; }
  void plan(std::uint64_t records);
  void begin(const SortedArray& array);
  void feed(Lane& lane);
  void drain(Lane& lane);
  void land(Lane& lane);
  HostMerge::Holder take_slot(Lane& lane, std::byte*& slot);

  std::size_t record_bytes_;
  ChunkFormat format_;
  ChunkGeometry geometry_;
  Mailbox mailbox_;
  MemoryRegion room_;  // for the chunks that are stored
  SortedArray array_;
  std::uint64_t records_ = 0;  // of the array
  std::size_t chunks_ = 0;     // of it
  std::size_t stored_chunks_ = 0;
  std::vector<Lane> lanes_;
  HostMerge merge_;  // its records lie in slots
};

}  // namespace xxl::gpu
