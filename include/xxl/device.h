// What sorts and joins: GPUs or processors.
#pragma once

namespace xxl {

// Of one choice for all: resource_options (sorters, jobs of files), array_options (arrays).
enum class Device {
  automatic,  // GPUs where they pay, else the processors: no GPU is no error
  gpu,        // GPUs; Error{device} if there is none, or they cannot do it
  cpu,        // the processors
};

namespace detail {
struct GpuFinder;
}

}  // namespace xxl
