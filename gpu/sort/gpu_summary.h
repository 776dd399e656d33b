// The GPUs of this machine, for people to read: shown by `xxl info`.
#pragma once

#include <string>
#include <vector>

#include "gpu/device/device.h"
#include "gpu/device/topology.h"

namespace xxl::gpu {

// "GPU 0, NVIDIA H200, 139.8 GiB, 138.9 GiB free, PCI 0000:0F:00.0, NUMA node 0". If the device
// cannot be asked, says so.
std::string describe_gpu(const Device& device);

// How GPUs are connected, a line for each kind of way there is between two of them:
// "NVLink: 0-1 0-2 1-2", "PCIe: ...", "through the host: ..."; and which of them share one way to
// the host. Nothing for one GPU.
std::vector<std::string> describe_links(const GpuLinks& links);

// The version of the driver's module (/proc/driver/nvidia/version): "580.65.06"; empty if there is
// none.
std::string driver_version(const std::string& module_text);

}  // namespace xxl::gpu
