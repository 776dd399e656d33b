// Timing of what a GPU does alone: sorting, and copying within its memory.
#pragma once

#include <cstddef>

#include "gpu/probe/probe_report.h"

namespace xxl::gpu::probe {

inline constexpr std::size_t kMinSortItems = std::size_t{1} << 16;
// Memory that a GPU needs for each item to sort; CUB needs a little more.
inline constexpr std::size_t kSortItemBytes = 32;

// Sets ProbedGpu::copy_rate and ProbedGpu::sort of GPU `gpu`, which becomes the one in use: sorts
// `items` items at a time, each measurement takes `seconds` and a little more. Throws
// Error{device}, or Error{no_space} if the items do not fit.
void measure_alone(int gpu, std::size_t items, double seconds, ProbedGpu& probed);

}  // namespace xxl::gpu::probe
