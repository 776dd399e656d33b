// Sorts arrays in host memory on GPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/time_line.h"
#include "gpu/device/device.h"
#include "gpu/device/multi_gpu.h"
#include "gpu/sort/chunk_engine.h"
#include "record/key_layout.h"

namespace xxl::gpu {

// An array of whole records and where the sorted ones go; they may be the same memory. Owned by the
// caller. Pinned memory (Device::pin) is several times faster.
struct SortedArray {
  std::span<const std::byte> from;
  std::span<std::byte> to;
};

struct ArraySortOptions {
  MultiGpu strategy = MultiGpu::partition;
  std::uint64_t memory_bytes = 0;  // most to use of each device; 0: what is free
  unsigned chunks = 1;             // with 2, one array leaves while the next one arrives
  TimeLine* time_line = nullptr;   // what the devices do; may be null
};

// Device memory and threads, kept for sorting any number of arrays of one format.
class ArraySorter {
 public:
  // For arrays of up to `most_bytes` each. The devices and `layout` must outlive it. With several
  // devices and a strategy other than independent they must be peers. Throws Error{no_space} if an
  // array would not fit into the memory of the devices.
  ArraySorter(std::vector<Device*> devices, const KeyLayout& layout, std::uint64_t most_bytes,
              const ArraySortOptions& options);

  // Sorts each of the arrays, stably. With MultiGpu::independent each is sorted on one device.
  // Throws Error{device}; then the contents of `to` are lost.
  void sort(std::span<const SortedArray> arrays);

 private:
  void feed();
  void drain();

  std::size_t record_bytes_;
  ChunkFormat format_;
  ChunkGeometry geometry_;
  Mailbox mailbox_;
  std::span<const SortedArray> arrays_;
  std::size_t feeding_ = 0;         // array that arrives
  std::size_t fed_ = 0;             // bytes of it
  std::size_t copies_in_ = 0;       // under way, all arrays
  std::uint64_t records_left_ = 0;  // to leave
  std::uint64_t first_chunk_ = 0;   // number of the first array's chunk
  std::uint64_t chunks_ = 0;
  ChunkEngine engine_;  // last: its threads use the rest
};

}  // namespace xxl::gpu
