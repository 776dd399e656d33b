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
#include <type_traits>

#include "base/error.h"
#include "base/units.h"

namespace xxl::gpu::probe {

using Clock = std::chrono::steady_clock;

inline constexpr int kHost = -1;  // where memory is, instead of the index of a GPU

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

// A deleter: calls kFree, a function of CUDA or C.
template <auto kFree>
struct FreedBy {
  template <class T>
  void operator()(T* owned) const {
    static_cast<void>(kFree(owned));
  }
};
using DeviceBuffer = std::unique_ptr<std::byte, FreedBy<cudaFree>>;

inline DeviceBuffer allocate_on(int gpu, std::size_t bytes) {
  use_gpu(gpu);
  void* memory = nullptr;
  check(cudaMalloc(&memory, bytes), "allocate memory", gpu);
  return DeviceBuffer(static_cast<std::byte*>(memory));
}

using PinnedBuffer = std::unique_ptr<std::byte, FreedBy<cudaFreeHost>>;

inline PinnedBuffer allocate_pinned(int gpu, std::size_t bytes) {
  use_gpu(gpu);
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), "allocate pinned host memory", gpu);
  return PinnedBuffer(static_cast<std::byte*>(memory));
}

using HostBuffer = std::unique_ptr<std::byte, FreedBy<std::free>>;

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

using CudaEvent = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, FreedBy<cudaEventDestroy>>;

inline CudaEvent make_event(int gpu) {
  constexpr unsigned kFlags = cudaEventDisableTiming | cudaEventBlockingSync;
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, kFlags), "create an event", gpu);
  return CudaEvent(event);
}

}  // namespace xxl::gpu::probe
