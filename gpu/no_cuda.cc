// In place of cuda_device.cu where there is no CUDA compiler.
#include "gpu/cuda_device.h"

namespace xxl::gpu {

std::vector<std::unique_ptr<Device>> cuda_devices(std::string& reason) {
  reason = "this program was built without CUDA";
  return {};
}

}  // namespace xxl::gpu
