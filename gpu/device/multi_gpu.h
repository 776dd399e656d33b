// How several GPUs work together (--multi-gpu).
#pragma once

namespace xxl::gpu {

enum class MultiGpu {
  automatic,    // partition where all GPUs are peers, independent otherwise
  independent,  // each chunk on a GPU of its own, a run for each; the host merges them
  p2p_merge,    // one chunk on all GPUs; they swap what belongs to the other, half against half
  partition,    // one chunk on all GPUs; each fetches from all others what it is to put out
};

}  // namespace xxl::gpu
