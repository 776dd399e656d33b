// Results of measuring GPUs and their links.
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

// Items of the sizes of their key and value, in bytes of items sorted a second.
struct SortRates {
  std::size_t items = 0;  // sorted at a time
  double u32 = 0;
  double u64 = 0;
  double u64_u64 = 0;
};

// A way to move data between the host's memory and a GPU, one direction at a time, as a program
// sees it: with what it has to do beforehand. In bytes a second.
struct ProbedWay {
  const char* name;
  double to = 0;    // the GPU
  double from = 0;  // the GPU
};

struct ProbedGpu {
  DeviceInfo info;
  int compute_major = 0;  // compute capability
  int compute_minor = 0;
  HostRates pinned;      // memory of cudaHostAlloc
  HostRates pageable;    // ordinary memory
  HostRates registered;  // ordinary memory, in use before cudaHostRegister pins it
  std::vector<ProbedWay> ways;
  // Of copies within its memory: bytes read and bytes written, a second.
  double copy_rate = 0;
  SortRates sort;
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

}  // namespace xxl::gpu
