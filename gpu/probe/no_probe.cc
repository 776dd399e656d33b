// In place of gpu_probe.cu where there is no CUDA compiler.
#include "base/error.h"
#include "gpu/probe/gpu_probe.h"

namespace xxl::gpu {
namespace {

constexpr const char* kNoCuda = "this program was built without CUDA";

}  // namespace

GpuLinks find_gpu_links() {
  throw Error(ErrorCode::device, kNoCuda);
}

GpuProbeResult probe_gpus(double) {
  throw Error(ErrorCode::device, kNoCuda);
}

}  // namespace xxl::gpu
