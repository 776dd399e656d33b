// Finds GPUs, and decides which of them are used: for the command line, for sorters and jobs of
// files, for arrays.
//
// Whoever sorts or joins on GPUs gets them here. A GPU is started when it is first used, which
// takes some hundred milliseconds and memory of the host: so finding comes late, where work is
// known that is worth it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "gpu/cuda/cuda_device.h"
#include "gpu/device/device.h"
#include "gpu/device/topology.h"
#include "gpu/sort/gpu_accelerator.h"
#include "xxl/device.h"

namespace xxl {
namespace gpu {

// What there is.
struct MachineGpus {
  std::vector<std::unique_ptr<Device>> devices;  // in the driver's order
  GpuLinks links;                                // of as many
};

// Throws Error{device} that says why there are none.
using FindGpus = std::function<MachineGpus()>;

MachineGpus cuda_gpus();
// In host memory; sorts may use `memory_bytes` of each (0: as they come).
MachineGpus simulated_gpus(std::size_t count, std::uint64_t memory_bytes);

// Throws Error{usage} if `list`, which the user knows as `name`, has a number twice.
void check_gpu_list(std::span<const unsigned> list, std::string_view name);
// The GPUs of `list`, or if it is empty all, the best ones first. Throws Error{usage} if one of the
// list is not there.
std::vector<std::size_t> choose_from(const MachineGpus& machine, std::span<const unsigned> list);

// Of several processes that divide the same GPUs among them, this one.
struct GpuProcess {
  unsigned number = 0;
  unsigned of = 1;
};

// Takes from `gpus` what is not for `process`. They are dealt in turn, none twice; where there are
// fewer than processes, each has one, and others may have it too: returns how many do.
unsigned take_share(std::vector<std::size_t>& gpus, GpuProcess process);

// Which GPUs sort. Several users may share them, each with an equal part of their memory.
struct SortingGpus {
  std::vector<unsigned> list = {};  // none: the best ones, as many as hold what is sorted
  bool all = false;                 // without a list: all
  unsigned users = 1;
  GpuProcess process = {};
};
// For GpuOptions::find.
std::function<GpuOptions::Found(std::uint64_t bytes)> find_for_sort(FindGpus find,
                                                                    SortingGpus wanted);

}  // namespace gpu

namespace detail {

// What programs have; tests have simulated GPUs.
struct GpuFinder {
  using Found = gpu::MachineGpus;

  gpu::FindGpus find = gpu::cuda_gpus;
  // Where GPUs are optional, they are started for so many bytes; once an array has started them,
  // they are used for the second size.
  std::uint64_t start_bytes = kGiB;
  std::uint64_t use_bytes = 64 * kMiB;
  std::uint64_t driver_bytes = gpu::kDriverBytes;  // of the host's memory, for each GPU
};

}  // namespace detail
}  // namespace xxl
