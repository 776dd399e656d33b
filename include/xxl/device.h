// The device that sorts and joins: GPUs or the CPU.
#pragma once

namespace xxl {

// Used by resource_options (sorters, jobs of files) and array_options (arrays).
enum class Device {
  automatic,  // GPUs if they are faster, otherwise the CPU
  gpu,        // GPUs, otherwise Error{device}
  cpu,        // the CPU
};

namespace detail {
struct GpuFinder;
}

}  // namespace xxl
