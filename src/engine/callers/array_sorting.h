// Sorts arrays on GPUs, or else on processors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/callers/array_gpus.h"
#include "gpu/array/array_sort.h"
#include "record/key_layout.h"
#include "sort/cpu_array_sorter.h"

namespace xxl::detail {

class ArraySorting {
 public:
  // `layout` and `gpus` must outlive it. `threads` of processors.
  ArraySorting(const KeyLayout& layout, ArrayGpus& gpus, unsigned threads)
      : layout_(layout), gpus_(gpus), cpu_(layout, threads) {}

  // Sorts `from` into `to`, which may be the same memory. Says in `report` who did it. Throws as
  // array_sorter (xxl/gpu.h).
  void sort(std::span<const std::byte> from, std::span<std::byte> to, array_report& report);

 private:
  bool sort_on_gpus(std::span<const std::byte> from, std::span<std::byte> to, array_report& report);
  void make_sorter(std::uint64_t bytes);

  const KeyLayout& layout_;
  ArrayGpus& gpus_;
  std::optional<gpu::ArraySorter> sorter_;
  std::uint64_t sorter_bytes_ = 0;  // that it can take
  ArrayGpus::Devices sorter_devices_;
  CpuArraySorter cpu_;
};

}  // namespace xxl::detail
