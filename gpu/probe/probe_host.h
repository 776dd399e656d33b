// The location of memory.
#pragma once

namespace xxl::gpu::probe {

inline constexpr int kHost = -1;  // where memory is, instead of the index of a GPU

}  // namespace xxl::gpu::probe
