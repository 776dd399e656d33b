// Measures the links of GPUs to the host and to each other, and derives which GPUs to use and how
// they sort together.
//
// Host memory: two buffers of 128 MiB for each GPU, pinned; before that, two of ordinary memory. It
// lies on the NUMA node of the calling thread, as the buffers of a sort do: use numactl(8) to
// measure other nodes. Memory of each GPU: a buffer for itself and for each other GPU, at least two
// (1 GiB of each of 8).
#pragma once

#include <cstddef>
#include <vector>

#include "gpu/device/device.h"
#include "gpu/device/topology.h"

namespace xxl::gpu {

// Between the host and one GPU, or several at once; in bytes a second.
struct HostRates {
  double to = 0;    // the GPU
  double from = 0;  // the GPU
  double both = 0;  // directions at once, summed
};

struct ProbedGpu {
  DeviceInfo info;
  int compute_major = 0;  // compute capability
  int compute_minor = 0;
  HostRates pinned;      // memory of cudaHostAlloc
  HostRates pageable;    // ordinary memory
  HostRates registered;  // ordinary memory, in use before cudaHostRegister pins it
};

// Pinned memory and several GPUs at once; rates of all together.
struct ProbedSet {
  std::vector<std::size_t> gpus;  // positions in GpuProbeResult::gpus
  HostRates pinned;
};

struct GpuProbeResult {
  std::vector<ProbedGpu> gpus;
  // Measured: host links of GPUs alone and of two at once (pinned), links between GPUs. Copies
  // between GPUs that are no peers go through the host, and have a rate too.
  GpuLinks links;
  // The same as far as known without measuring: the basis of an automatic choice.
  GpuLinks assumed;
  std::vector<ProbedSet> sets;  // the best GPUs: 2, 4, ... and all
  double all_to_all_rate = 0;   // every GPU to every other at once, summed; 0: one GPU
};

// The visible GPUs, in the order of the driver, and their links, as the driver and Linux describe
// them; nothing is measured, and memory of GPUs is not used. Throws Error{device} if there is no
// GPU ("no GPU: ...") or one cannot be asked, or the program was built without CUDA.
GpuLinks find_gpu_links();

// Measures all visible GPUs in `seconds`, of which each measurement gets its part, but at least
// 0.02 and at most 0.2; preparing the GPUs and memory comes on top. Leaves access of peers to each
// other enabled. Throws Error{device} if there is no GPU or one fails, Error{no_space} if memory of
// the host or of a GPU is too small.
GpuProbeResult probe_gpus(double seconds);

}  // namespace xxl::gpu
