// Sorts arrays on GPUs, or else on processors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "callers/array_gpus.h"
#include "gpu/array/array_sort.h"
#include "gpu/array/het_sort.h"
#include "record/key_layout.h"
#include "sort/cpu_array_sorter.h"

namespace xxl::detail {

class ArraySorting {
 public:
  // `layout` and `gpus` must outlive it. `threads` of processors.
  ArraySorting(const KeyLayout& layout, ArrayGpus& gpus, unsigned threads)
      : layout_(layout), gpus_(gpus), threads_(threads), cpu_(layout, threads) {}

  // Sorts `from` into `to`, which may be the same memory. Says in `report` who did it. Throws as
  // array_sorter (xxl/array.h).
  void sort(std::span<const std::byte> from, std::span<std::byte> to, array_report& report);

 private:
  bool sort_on_gpus(std::span<const std::byte> from, std::span<std::byte> to, array_report& report);
  void make_sorter(std::uint64_t bytes);
  bool make_sorter_of(ArrayGpus::Devices devices, std::uint64_t bytes);
  void drop_sorter();

  const KeyLayout& layout_;
  ArrayGpus& gpus_;
  const unsigned threads_;
  std::optional<gpu::ArraySorter> sorter_;    // in the memory of GPUs,
  std::optional<gpu::HetSorter> het_sorter_;  // or of theirs and the host's, for larger arrays
  std::uint64_t sorter_bytes_ = 0;            // that it can take
  ArrayGpus::Devices sorter_devices_;
  CpuArraySorter cpu_;
};

}  // namespace xxl::detail
