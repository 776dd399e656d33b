// Sorts arrays in host memory on GPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/time_line.h"
#include "gpu/array/array_feed.h"
#include "gpu/device/device.h"
#include "gpu/device/topology.h"
#include "gpu/sort/chunk_engine.h"
#include "record/key_layout.h"

namespace xxl::gpu {

// An array of whole records and where the sorted ones go; they may be the same memory. Owned by the
// caller. Pinned memory (Device::pin) is faster.
struct SortedArray {
  std::span<const std::byte> from;
  std::span<std::byte> to;
};

struct ArraySortOptions {
  MultiGpu strategy = MultiGpu::partition;
  std::uint64_t memory_bytes = 0;  // most to use of each device; 0: what is free
  // With 2, one array leaves while the next one arrives; with 3, another is sorted meanwhile.
  unsigned chunks = 1;
  // Peers of the devices whose links to the host take a part of the copies (host_link.h).
  std::vector<Device*> idle = {};
  unsigned threads = 0;  // of processors that copy memory which is not pinned; 0: half of them
  TimeLine* time_line = nullptr;  // what the devices do; may be null
};

// Device memory and threads, kept for sorting any number of arrays of one format.
class ArraySorter {
 public:
  // For arrays of up to `most_bytes` each. The devices and `layout` must outlive it. With several
  // devices and a strategy other than independent they must be peers. Throws Error{no_space} if an
  // array would not fit into the memory of the devices.
  ArraySorter(std::vector<Device*> devices, const KeyLayout& layout, std::uint64_t most_bytes,
              const ArraySortOptions& options);

  // Sorts each of the arrays, stably. With MultiGpu::independent each is sorted on one device, and
  // all devices are fed at the same time. Throws Error{device}; then the contents of `to` are lost,
  // and the sorter can only be destroyed.
  void sort(std::span<const SortedArray> arrays);

 private:
  // One engine, and the arrays that it has got.
  struct Lane {
    std::unique_ptr<ChunkEngine> engine;
    std::unique_ptr<ArrayFeed> feed;
    std::vector<std::size_t> arrays = {};  // of its chunks, in their order
    std::uint64_t first_chunk = 0;         // number of that of the first array
  };

  void feed();
  void drain(Lane& lane);

  std::size_t record_bytes_;
  ChunkFormat format_;
  ChunkGeometry geometry_;
  Mailbox mailbox_;
  std::span<const SortedArray> arrays_;
  std::size_t next_ = 0;            // array that no engine has got
  std::uint64_t records_left_ = 0;  // to leave
  std::vector<Lane> lanes_;         // last: their threads use the rest
};

// ArraySortOptions::threads as a number.
unsigned copying_threads(unsigned threads);

// How the memory of `devices` is divided for arrays, or parts of them, of up to `most_bytes` on
// `sharing` devices together: as much of it as `options` allow, in slices of `slice_bytes` (0: of
// its own choice). Throws Error{no_space} if they would not fit.
ChunkGeometry plan_array_sort(const std::vector<Device*>& devices, std::size_t sharing,
                              const ChunkFormat& format, std::uint64_t most_bytes,
                              std::size_t slice_bytes, const ArraySortOptions& options);

}  // namespace xxl::gpu
