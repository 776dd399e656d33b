// Timing of all ways to move data between a GPU and the host's memory.
#pragma once

#include <cstddef>
#include <vector>

#include "gpu/probe/probe_report.h"

namespace xxl::gpu::probe {

// Of GPU `gpu`, which becomes the one in use, each way in each direction for `seconds` and a little
// more. Takes `bytes` of its memory, and twice of the host's. Throws Error{device}, or
// Error{no_space}.
std::vector<ProbedWay> measure_ways(int gpu, std::size_t bytes, double seconds);

}  // namespace xxl::gpu::probe
