// xxl probe --gpu.
#pragma once

#include <cstdint>

#include "cli/parse_options.h"

namespace xxl::cli {

inline constexpr std::uint64_t kMaxProbeSeconds = 3600;

// Measures all GPUs and prints a table, or JSON; returns the exit status. Throws Error{usage} if
// what the options ask for makes no sense, Error{device} if there is no GPU or the program was
// built without CUDA.
int run_probe_gpu(const ParsedOptions& options);

}  // namespace xxl::cli
