// In place of cuda_device.cu where there is no CUDA compiler.
#include "gpu/cuda/cuda_device.h"

namespace xxl::gpu {

std::vector<std::unique_ptr<Device>> cuda_devices(std::string& reason) {
  reason = "this program was built without CUDA";
  return {};
}

std::string cuda_driver_version() {
  return {};
}

}  // namespace xxl::gpu
