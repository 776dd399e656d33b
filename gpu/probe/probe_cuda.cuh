// What the parts of the probe of GPUs have in common: errors of CUDA, the clock, owners of memory,
// streams and events.
#pragma once

#include <cuda_runtime.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/units.h"
#include "gpu/probe/probe_host.h"

namespace xxl::gpu::probe {

using Clock = std::chrono::steady_clock;

// Throws if `result` is an error: "GPU 3: cannot copy: an illegal memory access was encountered".
inline void check(cudaError_t result, const char* what, int gpu = kHost) {
  if (result == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // already reported
  const std::string place = gpu == kHost ? "GPUs" : "GPU " + std::to_string(gpu);
  const bool short_of_memory = result == cudaErrorMemoryAllocation;
  throw Error(short_of_memory ? ErrorCode::no_space : ErrorCode::device,
              place + ": cannot " + what + ": " + cudaGetErrorString(result));
}

inline double seconds_between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

inline void use_gpu(int gpu) {
  check(cudaSetDevice(gpu), "use it", gpu);
}

struct DeviceFree {
  void operator()(std::byte* memory) const { static_cast<void>(cudaFree(memory)); }
};
using DeviceBuffer = std::unique_ptr<std::byte, DeviceFree>;

inline DeviceBuffer allocate_on(int gpu, std::size_t bytes) {
  use_gpu(gpu);
  void* memory = nullptr;
  check(cudaMalloc(&memory, bytes), "allocate memory", gpu);
  return DeviceBuffer(static_cast<std::byte*>(memory));
}

struct PinnedFree {
  void operator()(std::byte* memory) const { static_cast<void>(cudaFreeHost(memory)); }
};
using PinnedBuffer = std::unique_ptr<std::byte, PinnedFree>;

inline PinnedBuffer allocate_pinned(int gpu, std::size_t bytes) {
  use_gpu(gpu);
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), "allocate pinned host memory", gpu);
  return PinnedBuffer(static_cast<std::byte*>(memory));
}

struct HostFree {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using HostBuffer = std::unique_ptr<std::byte, HostFree>;

// Ordinary memory with its own pages.
inline HostBuffer allocate_touched(std::size_t bytes) {
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(kSectorBytes, bytes));
  if (memory == nullptr) throw Error(ErrorCode::no_space, "host memory is too small to probe GPUs");
  std::memset(memory, 1, bytes);
  return HostBuffer(memory);
}

// Pins memory of the host while it lives.
class Registration {
 public:
  Registration(std::byte* memory, std::size_t bytes) : memory_(memory) {
    check(cudaHostRegister(memory, bytes, cudaHostRegisterPortable), "register host memory");
  }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  ~Registration() { static_cast<void>(cudaHostUnregister(memory_)); }

 private:
  std::byte* memory_;
};

// Of the GPU in use.
class CudaStream {
 public:
  explicit CudaStream(int gpu) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "create a stream", gpu);
  }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  ~CudaStream() {
    // Waits: memory used by its work may be freed next.
    static_cast<void>(cudaStreamSynchronize(stream_));
    static_cast<void>(cudaStreamDestroy(stream_));
  }
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class CudaEvent {
 public:
  explicit CudaEvent(int gpu) {
    constexpr unsigned kFlags = cudaEventDisableTiming | cudaEventBlockingSync;
    check(cudaEventCreateWithFlags(&event_, kFlags), "create an event", gpu);
  }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  ~CudaEvent() { static_cast<void>(cudaEventDestroy(event_)); }
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace xxl::gpu::probe
