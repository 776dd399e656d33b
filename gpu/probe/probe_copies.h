// Timing of copies between GPUs and the host, any number of them at once.
#pragma once

#include <cstddef>
#include <span>

#include "gpu/probe/probe_cuda.cuh"

namespace xxl::gpu::probe {

// Copies `bytes` again and again, in pieces.
struct Transfer {
  int gpu = 0;  // that does it
  std::byte* to = nullptr;
  int to_gpu = kHost;  // where `to` is
  const std::byte* from = nullptr;
  int from_gpu = kHost;
  std::size_t bytes = 0;
  std::size_t piece_bytes = 0;  // divides `bytes`
};

// Runs all transfers at once, for `seconds` and a little more, after two pieces of each to warm up:
// bytes a second, summed. Throws Error{device}.
double measure_copies(std::span<const Transfer> transfers, double seconds);

}  // namespace xxl::gpu::probe
