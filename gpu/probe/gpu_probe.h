// Measures GPUs: their links to the host and to each other, and how fast they sort; and derives
// which GPUs to use and how they sort together.
//
// Host memory: of the options' `bytes`, two for each GPU, pinned; before that, two of ordinary
// memory. With the defaults 256 MiB for one GPU and 2 GiB for 8. It lies on the NUMA node of the
// calling thread, as the buffers of a sort do: use numactl(8) to measure other nodes. Memory of
// each GPU: 32 bytes for each item to sort (with the defaults 2 GiB) plus CUB's scratch; after
// that, `bytes` for itself and for each other GPU, at least two (1 GiB of each of 8).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.h"
#include "gpu/device/topology.h"
#include "gpu/probe/probe_report.h"

namespace xxl::gpu {

struct GpuProbeOptions {
  // Of a buffer: one for each direction of a GPU. A multiple of 64 KiB.
  std::size_t bytes = 128 * kMiB;
  // Items that a GPU sorts; fewer if its memory is short.
  std::size_t sort_items = std::size_t{1} << 26;
  // For all measurements together. Each gets its part, but at least 0.02 and at most 0.2 seconds;
  // preparing the GPUs and memory comes on top.
  double seconds = 6;
};

// The visible GPUs, in the order of the driver, and their links, as the driver and Linux describe
// them; nothing is measured, and memory of GPUs is not used. Throws Error{device} if there is no
// GPU ("no GPU: ...") or one cannot be asked, or the program was built without CUDA.
GpuLinks find_gpu_links();

// Measures all visible GPUs; takes some ten seconds for 8. Leaves access of peers to each other
// enabled. Throws Error{device} if there is no GPU or one fails, Error{no_space} if memory of the
// host or of a GPU is too small.
GpuProbeResult probe_gpus(const GpuProbeOptions& options = {});

}  // namespace xxl::gpu
