// NVIDIA GPUs as devices (device.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/device/device.h"

namespace xxl::gpu {

// Host memory that the driver takes for each GPU in use. Measured: 60 to 120 MB for an H200, 75 to
// 107 MiB for an H100.
inline constexpr std::uint64_t kDriverBytes = std::uint64_t{128} << 20;

// The GPUs of this machine that the process may use (CUDA_VISIBLE_DEVICES), in the driver's order.
// Empty if there is none, or no driver, or the program was built without CUDA: then `reason` says
// so. A GPU takes some hundred milliseconds to start, which is done when it is first used.
std::vector<std::unique_ptr<Device>> cuda_devices(std::string& reason);

// The version of CUDA that the driver is for, "13.0"; empty without a driver, or built without
// CUDA.
std::string cuda_driver_version();

}  // namespace xxl::gpu
