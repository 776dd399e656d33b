// Errors of the CUDA runtime.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "base/error.h"

namespace xxl::gpu {

// Throws Error{no_space} when memory of the device is short, Error{device} for all else.
inline void check_cuda(cudaError_t status, const char* operation) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // clear it: reported below
  const ErrorCode code =
      status == cudaErrorMemoryAllocation ? ErrorCode::no_space : ErrorCode::device;
  throw Error(code, std::string("GPU: ") + operation + ": " + cudaGetErrorString(status));
}

}  // namespace xxl::gpu
