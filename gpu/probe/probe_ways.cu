// Each way moves the same bytes, from where a program has them to where a kernel reads them, or
// from where a kernel wrote them to where the program reads them. What a way needs to be ready
// again is not timed.
//
// Source: Lutz, Bress, Zeuch, Rabl and Markl, "Pump Up the Volume" (SIGMOD 2020), section 4.
#include "gpu/probe/probe_ways.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "base/machine_limits.h"
#include "base/mailbox.h"
#include "gpu/cuda/cuda_device.h"
#include "gpu/device/host_link.h"
#include "gpu/probe/probe_cuda.cuh"

namespace xxl::gpu::probe {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kBlocks = 1024;

__global__ void copy_words(uint4* to, const uint4* from, std::size_t words) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < words; i += step) {
    to[i] = from[i];
  }
}

struct ManagedFree {
  void operator()(std::byte* memory) const { static_cast<void>(cudaFree(memory)); }
};
using ManagedBuffer = std::unique_ptr<std::byte, ManagedFree>;

ManagedBuffer allocate_managed(int gpu, std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMallocManaged(&memory, bytes), "allocate managed memory", gpu);
  return ManagedBuffer(static_cast<std::byte*>(memory));
}

class Ways {
 public:
  Ways(int gpu, std::size_t bytes, double seconds)
      : gpu_(gpu),
        bytes_(bytes),
        seconds_(seconds),
        device_(allocate_on(gpu, bytes)),
        stream_(gpu) {}

  std::vector<ProbedWay> measure() {
    measure_ordinary();
    measure_pinned();
    measure_managed();
    return std::move(ways_);
  }

 private:
  using Task = std::function<void()>;

  // Bytes a second of `work`, which is made ready by `prepare`.
  double rate_of(const Task& prepare, const Task& work) const {
    double spent = 0;
    std::size_t moved = 0;
    for (bool warm = false; spent < seconds_; warm = true) {
      prepare();
      const Clock::time_point start = Clock::now();
      work();
      if (!warm) continue;
      spent += seconds_between(start, Clock::now());
      moved += bytes_;
    }
    return static_cast<double>(moved) / spent;
  }

  void finish() const { check(cudaStreamSynchronize(stream_.get()), "copy", gpu_); }
  void copy(std::byte* to, const std::byte* from) const {
    check(cudaMemcpyAsync(to, from, bytes_, cudaMemcpyDefault, stream_.get()), "copy", gpu_);
    finish();
  }
  void copy_by_kernel(std::byte* to, const std::byte* from) const {
    copy_words<<<kBlocks, kThreads, 0, stream_.get()>>>(
        reinterpret_cast<uint4*>(to), reinterpret_cast<const uint4*>(from), bytes_ / sizeof(uint4));
    check(cudaGetLastError(), "copy by a kernel", gpu_);
    finish();
  }
  void add(const char* name, const Task& prepare_to, const Task& to, const Task& prepare_from,
           const Task& from) {
    ways_.push_back({name, rate_of(prepare_to, to), rate_of(prepare_from, from)});
  }

  void measure_ordinary() {
    const HostBuffer host = allocate_touched(bytes_);
    std::byte* const at = host.get();
    const Task nothing = [] {};
    add(
        "pageable", nothing, [&] { copy(device_.get(), at); }, nothing,
        [&] { copy(at, device_.get()); });

    std::string reason;
    const auto devices = cuda_devices(reason);
    Mailbox mailbox;
    HostLink link(*devices.at(static_cast<std::size_t>(gpu_)),
                  {{}, std::max(available_processors() / 2, 1u)}, "probe", mailbox, nullptr);
    bool done = false;
    const auto wait = [&] {
      while (!done) mailbox.wait_and_run();
      done = false;
    };
    add(
        "staged", nothing,
        [&] {
          link.copy_in(device_.get(), at, bytes_, [&] { done = true; });
          wait();
        },
        nothing,
        [&] {
          link.copy_out(at, device_.get(), bytes_, [&] { done = true; });
          wait();
        });
    link.end_threads();
    use_gpu(gpu_);

    add(
        "registered on the fly", nothing,
        [&] {
          const Registration registration(at, bytes_);
          copy(device_.get(), at);
        },
        nothing,
        [&] {
          const Registration registration(at, bytes_);
          copy(at, device_.get());
        });
    const Registration registration(at, bytes_);
    add(
        "registered before", nothing, [&] { copy(device_.get(), at); }, nothing,
        [&] { copy(at, device_.get()); });
  }

  void measure_pinned() {
    const PinnedBuffer host = allocate_pinned(gpu_, bytes_);
    std::byte* const at = host.get();
    const Task nothing = [] {};
    add(
        "pinned", nothing, [&] { copy(device_.get(), at); }, nothing,
        [&] { copy(at, device_.get()); });
    add(
        "pinned, by a kernel", nothing, [&] { copy_by_kernel(device_.get(), at); }, nothing,
        [&] { copy_by_kernel(at, device_.get()); });
  }

  // The program writes it, and a kernel reads it where it is; and the other way round.
  void measure_managed() {
    const ManagedBuffer managed = allocate_managed(gpu_, bytes_);
    const HostBuffer host = allocate_touched(bytes_);
    std::byte* const at = managed.get();
    const Task on_host = [&] { std::memcpy(at, host.get(), bytes_); };
    const Task on_gpu = [&] { copy_by_kernel(at, device_.get()); };
    add(
        "managed", on_host, [&] { copy_by_kernel(device_.get(), at); }, on_gpu,
        [&] { std::memcpy(host.get(), at, bytes_); });
    int concurrent = 0;
    check(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, gpu_),
          "describe it", gpu_);
    if (concurrent == 0) return;  // nothing to fetch ahead
    const auto prefetch = [&](cudaMemLocation to) {
      check(cudaMemPrefetchAsync(at, bytes_, to, 0, stream_.get()), "prefetch", gpu_);
    };
    add(
        "managed, fetched ahead", on_host,
        [&] {
          prefetch({cudaMemLocationTypeDevice, gpu_});
          copy_by_kernel(device_.get(), at);
        },
        on_gpu,
        [&] {
          prefetch({cudaMemLocationTypeHost, 0});
          finish();
          std::memcpy(host.get(), at, bytes_);
        });
  }

  const int gpu_;
  const std::size_t bytes_;
  const double seconds_;
  DeviceBuffer device_;
  CudaStream stream_;
  std::vector<ProbedWay> ways_;
};

}  // namespace

std::vector<ProbedWay> measure_ways(int gpu, std::size_t bytes, double seconds) {
  use_gpu(gpu);
  return Ways(gpu, bytes, seconds).measure();
}

}  // namespace xxl::gpu::probe
