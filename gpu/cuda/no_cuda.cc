// In place of cuda_device.cu and gpu_probe.cu where there is no CUDA compiler.
#include "base/error.h"
#include "gpu/cuda/cuda_device.h"
#include "gpu/probe/gpu_probe.h"

namespace xxl::gpu {
namespace {

constexpr const char* kNoCuda = "this program was built without CUDA";

}  // namespace

std::vector<std::unique_ptr<Device>> cuda_devices(std::string& reason) {
  reason = kNoCuda;
  return {};
}

std::string cuda_driver_version() {
  return {};
}

GpuLinks find_gpu_links() {
  throw Error(ErrorCode::device, kNoCuda);
}

GpuProbeResult probe_gpus(const GpuProbeOptions&) {
  throw Error(ErrorCode::device, kNoCuda);
}

}  // namespace xxl::gpu
