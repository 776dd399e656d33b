// GPUs of one machine for ranks that are threads: simulated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "cluster/peers.h"
#include "gpu/find/find_gpus.h"
#include "gpu/simulated/simulated_device.h"
#include "gpu/sort/gpu_accelerator.h"

namespace xxl::test {

// The share of a rank in `count` GPUs, whose `memory_bytes` all ranks may use. `before`: as
// gpu::SimulatedOptions has it.
inline std::unique_ptr<Accelerator> gpus_of_rank(
    const Peers& peers, std::size_t count, std::uint64_t memory_bytes,
    std::function<void(const char*)> before = nullptr) {
  gpu::GpuOptions options;
  options.memory_bytes = memory_bytes;
  options.find = gpu::find_for_sort(
      [count, before = std::move(before)] {
        gpu::MachineGpus machine = gpu::simulated_gpus(count, 0);
        for (std::size_t i = 0; before != nullptr && i < count; ++i) {
          machine.devices[i] = std::make_unique<gpu::SimulatedDevice>(
              static_cast<int>(i), gpu::SimulatedOptions{.before = before});
        }
        return machine;
      },
      {.all = true, .process = {peers.rank(), peers.ranks()}});
  return std::make_unique<gpu::GpuAccelerator>(std::move(options));
}

}  // namespace xxl::test
