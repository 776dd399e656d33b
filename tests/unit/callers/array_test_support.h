// Simulated GPUs for calls on arrays.
#pragma once

#include <memory>
#include <utility>

#include "callers/array_gpus.h"
#include "gpu/simulated/simulated_device.h"

namespace xxl::test {

// That are worth using for any array.
inline std::shared_ptr<const detail::GpuFinder> simulated_gpus(
    std::size_t count, gpu::SimulatedOptions simulated = {.memory_bytes = 64 * kMiB},
    bool fast_links = true) {
  detail::GpuFinder finder;
  finder.start_bytes = finder.use_bytes = finder.driver_bytes = 0;
  finder.find = [count, simulated = std::move(simulated), fast_links] {
    detail::GpuFinder::Found found;
    found.links = gpu::GpuLinks(count);
    for (std::size_t i = 0; i < count; ++i) {
      found.devices.push_back(
          std::make_unique<gpu::SimulatedDevice>(static_cast<int>(i), simulated));
      for (std::size_t j = 0; j < count; ++j) {
        found.links.link(i, j) = {fast_links, gpu::kAssumedNvlinkRate};
      }
    }
    if (count == 0) throw Error(ErrorCode::device, "no GPU: none is simulated");
    return found;
  };
  return std::make_shared<const detail::GpuFinder>(std::move(finder));
}

}  // namespace xxl::test
